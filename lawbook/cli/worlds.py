"""`worlds`: what can be played."""

from __future__ import annotations

from lawbook.cli.commands import command
from lawbook.cli.options import games_option
from lawbook.cli.sources import print_sources
from lawbook.core import plugins
from lawbook.worlds.address import GROUP, load_world_source


@command("worlds")
@games_option
def list_worlds() -> int:
    sources = plugins.list_entry_points(GROUP)
    print_sources(
        ((kind, f"{kind}:") for kind in sources),
        load_world_source,
        lambda kind, source: plugins.describe_missing_package(sources[kind], kind, source),
    )
    return 0
