"""`report.html`: the viewer and one run in a single file that fetches nothing; below it the same as plain HTML, for no scripts."""

from __future__ import annotations

from base64 import b64encode
from hashlib import sha256
from typing import TYPE_CHECKING

from lawbook.ledger.ledger import Ledger
from lawbook.view import plain_html
from lawbook.view.css import STYLE
from lawbook.view.formatting import format_one_line
from lawbook.view.html_templates import mark_safe, render_template
from lawbook.view.run_index import RunIndex
from lawbook.view.web import bundle
from lawbook.view.web.offline_data import OfflineRun, pack_run

if TYPE_CHECKING:
    from markupsafe import Markup

MAX_BYTES = 4_800_000
"""Bytes that a report takes at most: frames that do not fit are left out, those of animations first, and it says so."""


def render(ledger: Ledger) -> str:
    """Render the page as text of at most about MAX_BYTES. Raises UsageError when the ledger has no opening."""
    body = plain_html.render_body(ledger)
    script, style = bundle.build_script(), bundle.build_style()
    with RunIndex(ledger.path) as run_index:
        offline_run = pack_run(
            run_index, ledger.path.parent.name, MAX_BYTES - len(body.encode()) - len(script) - len(style) - len(STYLE)
        )
        title = f"{format_one_line(run_index.opening.run.world)}: {offline_run.state}"
    page = render_template(
        "report.html",
        title=title,
        run_name=offline_run.name,
        body=body,
        blobs=_encode_blobs(offline_run),
        style=mark_safe(style),
        plain_style=mark_safe(STYLE),
        script=mark_safe(script),
        script_digest=mark_safe(b64encode(sha256(script.encode()).digest()).decode()),
    )
    return str(page)


def _encode_blobs(offline_run: OfflineRun) -> list[tuple[str, Markup]]:
    """Return the data by the id of its element, each in base64."""
    blobs = [
        ("run", offline_run.data),
        ("texts", offline_run.texts),
        *((f"frames{k}", frames) for k, frames in enumerate(offline_run.frames)),
    ]
    return [(element_id, mark_safe(b64encode(blob).decode())) for element_id, blob in blobs]
