"""Minds by name, `name` or `name:argument`, through the entry points of the group `lawbook.minds`."""

from __future__ import annotations

from lawbook.core import plugins
from lawbook.errors import UsageError
from lawbook.minds.base import Mind, MindSource, PictureMindSource

GROUP = "lawbook.minds"


def list_mind_names() -> list[str]:
    """Return the name of every mind on offer, the words before the first colon."""
    return list(plugins.list_entry_points(GROUP))


def load_mind_source(name: str) -> MindSource:
    """Load the source of a mind by its name. Raises UsageError for one that is not there or cannot be had."""
    entry_points = plugins.list_entry_points(GROUP)
    if name not in entry_points:
        raise UsageError(
            f"There is no mind {name!r}.{plugins.suggest_name(name, entry_points)} There is: {', '.join(entry_points)}."
        )
    source = plugins.load_entry_point(entry_points[name], f"{name} minds")
    if not isinstance(source, MindSource):
        raise UsageError(f"{entry_points[name].value} makes no minds; it needs a summary, names() and make(argument).")
    return source


def make_mind(address: str, *, images: bool = False) -> Mind:
    """Make the mind called `name` or `name:argument`. images: one that is shown pictures too. Raises UsageError."""
    name, _, argument = address.partition(":")
    source = load_mind_source(name)
    if not images:
        return source.make(argument)
    if not isinstance(source, PictureMindSource) or not source.pictures:
        raise UsageError(f"The mind {name} takes no pictures; leave out --images.")
    return source.make(argument, images=True)
