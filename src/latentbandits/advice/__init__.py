"""From a user's own problem to an answer: describe it, compare policies on it, ask for advice, tune one."""
