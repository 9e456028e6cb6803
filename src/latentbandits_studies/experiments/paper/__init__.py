"""The paper, experiment by experiment: one file per table, figure or section."""
