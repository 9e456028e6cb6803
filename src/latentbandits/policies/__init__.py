"""One file per policy or family, and the table of their names."""
