"""From a log of decisions to a decision: what the log says about hidden regimes, and what follows from it."""
