"""Rows in; figures, tables and the page out. Nothing here runs a simulation."""
