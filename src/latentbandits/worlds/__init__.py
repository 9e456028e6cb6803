"""Worlds: anything that can be realised: arrays of expected and received rewards."""
