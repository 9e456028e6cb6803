"""The commands that the studies add to `latentbandits`: reproduce, experiments, report."""
