"""The loops, one protocol's method on one screen each."""
