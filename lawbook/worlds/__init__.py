"""Worlds: the environments behind the closed door, each in its own process."""
