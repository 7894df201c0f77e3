"""The pages' HTML, by Jinja2: files of `templates/`, in which every value is cleaned and escaped unless it is marked as safe."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from lawbook.view.formatting import clean, format_count, format_one_line, format_percent, format_seconds, format_timestamp

if TYPE_CHECKING:
    from jinja2 import Environment
    from markupsafe import Markup

TEMPLATES = Path(__file__).parent / "templates"


def render_template(name: str, **values: object) -> Markup:
    """Render a file of `templates/`, as text that other templates may hold. Raises KeyError for a value that is not there."""
    from jinja2 import UndefinedError

    try:
        return mark_safe(_build_environment().get_template(name).render(values))
    except UndefinedError as error:  # a KeyError, as where Python looks into an event: it asks whether the ledger was altered
        raise KeyError(error.message) from error


def mark_safe(text: str) -> Markup:
    """Return `text` as markup: no template escapes it. Only for what is ours whole: a style sheet, a script, base64."""
    from markupsafe import Markup

    return Markup(text)


@cache
def _build_environment() -> Environment:
    from jinja2 import Environment, FileSystemLoader, StrictUndefined  # costs time: not before a page is written

    environment = Environment(
        loader=FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_clean_value,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "count": format_count,
        "grouped": "{:,}".format,
        "one_line": format_one_line,
        "percent": format_percent,
        "seconds": format_seconds,
        "timestamp": format_timestamp,
    }
    return environment


def _clean_value(value: object) -> object:
    """Return what a template shows of a value: text in which nothing would be obeyed by whoever shows it; markup as it is."""
    return value if isinstance(value, int | float) or hasattr(value, "__html__") else clean(str(value))
