"""Agents at the wheel: the interface they play through, and the runner that confines an installed one."""
