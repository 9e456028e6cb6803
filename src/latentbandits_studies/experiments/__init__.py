"""Experiments: settings as data, a score, a stable id. Nothing here draws or prints."""
