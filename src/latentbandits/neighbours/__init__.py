"""Seams to other packages of the field, each optional: one module per neighbour, imported by its own name."""
