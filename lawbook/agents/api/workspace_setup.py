"""A workspace is furnished: the command, the guide, helpers, stubs. Nothing there names the world."""

from __future__ import annotations

import os
import shlex
import sys
from pathlib import Path

import lawbook
from lawbook.agents.api.external_mind import AtTheWheel
from lawbook.agents.api.guide import STUBS, guide
from lawbook.agents.api.workspace import FIDELITY, OFFERED, Workspace
from lawbook.core.hypothesis import RULEBOOK
from lawbook.runs.session import Session

LAW = "law"
GUIDES = ("GUIDE.md", "AGENTS.md", "CLAUDE.md")
SAME = "(The text below is that of GUIDE.md, word for word: read one of them.)"
"""First line of the others."""
ENDED = ".ended"
"""Says how the run ended, for a command that comes after the door was closed."""


def furnish(workspace: Workspace, session: Session, member: int) -> None:
    """Put everything an agent needs into a workspace. What it has written itself stays; without that, what was accepted last is
    put there, or stubs."""
    rules = session.rules
    written = rules.needs_fidelity and isinstance(session.mind, AtTheWheel) and session.mind.judged_by is None
    text = guide(rules, members=len(session.state.members), written=written)
    for name in GUIDES:
        workspace.write(name, text if name == GUIDES[0] else f"{SAME}\n\n{text}")
    workspace.write(OFFERED, (Path(lawbook.__path__[0]) / "core" / "perception.py").read_text(encoding="utf-8"))
    workspace.write(LAW, command(), executable=True)
    workspace.remove(ENDED)
    accepted = session.state.members[member].hypothesis
    texts = dict(STUBS) if accepted is None else {RULEBOOK: accepted.rulebook, **accepted.files}
    for name, content in texts.items():
        needed = {RULEBOOK: rules.needs_rulebook, FIDELITY: written}.get(name, True)
        if needed and not workspace.has(name):
            workspace.write(name, content)


def command() -> str:
    """The text of ./law: the client, with a head that finds a Python by itself (a shell reads the first lines, Python the rest)."""
    python = shlex.quote(os.path.realpath(sys.executable))
    client = (Path(__file__).parent / "law_client.py").read_text(encoding="utf-8")
    return f"""#!/bin/sh
''''[ -x {python} ] && exec {python} -IS "$0" "$@"; exec python3 -IS "$0" "$@" # '''
{client}"""
