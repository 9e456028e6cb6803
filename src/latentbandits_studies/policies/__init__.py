"""Policies that only the studies use; their machine code is kept, as that of the library is."""
