"""Minds: whoever proposes hypotheses. All of them frozen; what improves is the rulebook and the program."""
