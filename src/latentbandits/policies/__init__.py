"""One file per policy or family, and the registry of their names."""
