"""Agents at the wheel: somebody's installed command line agent, run confined over a workspace, behind the same gate as our loop."""
