"""Protocols as rows of data: what must hold before a hypothesis is accepted or an action let through."""
