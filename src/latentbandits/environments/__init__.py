"""Worlds: anything that can be realised as a table of expected and received rewards."""
