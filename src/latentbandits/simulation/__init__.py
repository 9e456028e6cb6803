"""Paired runs of policies on worlds: the compiled loop, the batch that feeds it, the results."""
