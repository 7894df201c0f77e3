"""A workspace is furnished: the command, the guide, helpers, stubs. Nothing there names the world."""

from __future__ import annotations

import os
import shlex
import sys
from pathlib import Path

import lawbook
from lawbook.agents.api.external_mind import ExternalAgentMind
from lawbook.agents.api.guide import POINTER, STUBS, build_guide
from lawbook.agents.api.workspace import FIDELITY, PERCEPTION, Workspace
from lawbook.core.hypothesis import RULEBOOK
from lawbook.runs.session import Session

CLIENT_FILE = "law"
GUIDE_FILE = "GUIDE.md"
POINTER_FILES = ("AGENTS.md", "CLAUDE.md")
"""What agents read by themselves; they name the guide."""
ENDED_FILE = ".ended"
"""Says how the run ended, for a command that comes after the door was closed."""


def setup_workspace(workspace: Workspace, session: Session, member: int) -> None:
    """Put everything an agent needs into a workspace. What it has written itself stays; without that, what was accepted last is
    put there, or stubs."""
    protocol = session.protocol
    asks_fidelity = protocol.needs_fidelity and isinstance(session.mind, ExternalAgentMind) and session.mind.judge_mind is None
    text = build_guide(protocol, members=len(session.state.members), asks_fidelity=asks_fidelity)
    workspace.write(GUIDE_FILE, text)
    for name in POINTER_FILES:
        workspace.write(name, POINTER)
    workspace.write(PERCEPTION, (Path(lawbook.__path__[0]) / "core" / "perception.py").read_text(encoding="utf-8"))
    workspace.write(CLIENT_FILE, build_client_script(), executable=True)
    workspace.remove(ENDED_FILE)
    accepted = session.state.members[member].hypothesis
    texts = dict(STUBS) if accepted is None else {RULEBOOK: accepted.rulebook, **accepted.files}
    for name, content in texts.items():
        is_needed = {RULEBOOK: protocol.needs_rulebook, FIDELITY: asks_fidelity}.get(name, True)
        if is_needed and not workspace.has(name):
            workspace.write(name, content)


def build_client_script() -> str:
    """The text of ./law: the client, with a head that finds a Python by itself (a shell reads the first lines, Python the rest)."""
    python_path = shlex.quote(os.path.realpath(sys.executable))
    client = (Path(__file__).parent / "law_client.py").read_text(encoding="utf-8")
    return f"""#!/bin/sh
''''[ -x {python_path} ] && exec {python_path} -IS "$0" "$@"; exec python3 -IS "$0" "$@" # '''
{client}"""
