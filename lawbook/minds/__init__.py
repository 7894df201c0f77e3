"""Minds: the frozen proposers of hypotheses. Nothing in them learns; what improves is the rulebook and the program."""
