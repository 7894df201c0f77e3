"""`report.html`: the viewer and one run in a single file that fetches nothing; below it the same as plain HTML, for no scripts."""

from __future__ import annotations

from base64 import b64encode
from hashlib import sha256

from lawbook.ledger.ledger import Ledger
from lawbook.view import plain_html
from lawbook.view.css import STYLE
from lawbook.view.formatting import format_one_line
from lawbook.view.run_index import RunIndex
from lawbook.view.web import bundle
from lawbook.view.web.offline_data import OfflineRun, pack_run

MAX_BYTES = 4_800_000
"""Bytes that a report takes at most: frames that do not fit are left out, those of animations first, and it says so."""


def render(ledger: Ledger) -> str:
    """The page, as text. Raises UsageError when the ledger has no opening."""
    body = plain_html.render_body(ledger)
    script, style = bundle.build_script(), bundle.build_style()
    with RunIndex(ledger.path) as run_index:
        offline_run = pack_run(
            run_index, ledger.path.parent.name, MAX_BYTES - len(body.encode()) - len(script) - len(style) - len(STYLE)
        )
        title = f"{format_one_line(run_index.opening.run.world)}: {offline_run.state}"
    digest = b64encode(sha256(script.encode()).digest()).decode()
    policy = f"default-src 'none'; script-src 'sha256-{digest}'; style-src 'unsafe-inline'; img-src data:"
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{plain_html.escape(title)}</title><style>{style}</style><noscript><style>{STYLE}#top,#page{{display:none}}</style></noscript></head>\n"
        '<body><header id="top"></header><main id="page" tabindex="-1"></main><p id="said" role="status" class="unseen"></p>\n'
        f"<noscript>{body}</noscript>\n{_embed_data(offline_run)}\n<script>{script}</script></body></html>\n"
    )


def _embed_data(offline_run: OfflineRun) -> str:
    """The data, in elements that no browser runs."""
    blobs = [
        ("run", offline_run.data),
        ("texts", offline_run.texts),
        *((f"frames{k}", frames) for k, frames in enumerate(offline_run.frames)),
    ]
    return "\n".join(
        f'<script type="text/plain" id="{name}" data-run="{plain_html.escape(offline_run.name)}">'
        f"{b64encode(blob).decode()}</script>"
        for name, blob in blobs
    )
