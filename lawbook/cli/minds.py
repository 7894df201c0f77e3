"""`minds`: who can propose."""

from __future__ import annotations

from lawbook.cli.commands import command
from lawbook.cli.sources import print_sources
from lawbook.minds.registry import list_mind_names, load_mind_source


@command("minds")
def list_minds() -> int:
    print_sources(((name, "") for name in list_mind_names()), load_mind_source)
    return 0
