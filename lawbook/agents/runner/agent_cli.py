"""A command line agent as its launcher sees it: where it is installed, how it is called, what it says of what it cost."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, TypeGuard

from lawbook.agents.runner.model_proxy import ModelEndpoint
from lawbook.errors import UsageError

MCP_SERVER_NAME = "law"
"""The name of our MCP server, and of the command in the workspace."""


@dataclass(frozen=True)
class SessionConfig:
    """One session of an agent. home, workspace: its folders, which sessions before it wrote to; session_folder: one of its own,
    still empty; url: of the relay to its model, with the token that opens it; mcp_command: the command that speaks MCP on stdin
    and stdout, empty where there is none; model: empty for the program's own choice."""

    prompt: str
    home: Path
    workspace: Path
    session_folder: Path
    url: str
    token: str
    mcp_command: Sequence[str]
    model: str = ""


@dataclass(frozen=True)
class SessionOutput:
    """What a session's output tells of it. n_turns: of the model; dollars: by its own reckoning, where it has one; message: its
    last words, or what went wrong."""

    n_turns: int = 0
    dollars: float | None = None
    failed: bool = False
    message: str = ""


class AgentCLI(Protocol):
    """A program that can be put at the wheel. name: as in `coder:NAME`; program: its command; install: how to get it."""

    name: str
    program: str
    install: str

    def find_endpoint(self, environment: Mapping[str, str]) -> ModelEndpoint:
        """Where its model answers, with the user's key. Raises UsageError without one."""
        ...

    def prepare(self, config: SessionConfig) -> None:
        """Write what it reads before it starts, to call.fresh and nowhere else. Raises OSError."""
        ...

    def build_command(self, path: str, config: SessionConfig) -> list[str]: ...

    def build_environment(self, config: SessionConfig) -> dict[str, str]:
        """What it needs besides HOME, PATH and TMPDIR."""
        ...

    def parse_output(self, output: str) -> SessionOutput:
        """From everything it has written to stdout, whole or cut short or made up. Raises nothing."""
        ...


def parse_events(output: str) -> Iterator[dict[str, Any]]:
    """The objects among the lines of an agent's output, which is whatever it and those it talks to wish. Numbers in it may be no
    numbers: see `number`."""
    for line in output.split("\n"):
        try:
            event = json.loads(line)
        except (ValueError, RecursionError):
            continue
        if isinstance(event, dict):
            yield event


def is_count(value: object) -> TypeGuard[int | float]:
    """Whether it can be a count or a sum: from 0, and no more than can be written down."""
    return type(value) in (int, float) and 0 <= value < 1e15  # type: ignore[operator]


def find_program(cli: AgentCLI) -> str:
    """The path of the user's own installation. Raises UsageError with what to install."""
    path = shutil.which(cli.program)
    if path is None:
        raise UsageError(f"--mind coder:{cli.name} runs your own {cli.program}, which is not installed; {cli.install} brings it.")
    return path


def query_version(path: str) -> str:
    """What it says its version is, or why it does not."""
    try:
        completed = subprocess.run(
            [path, "--version"], capture_output=True, text=True, timeout=30, check=False, stdin=subprocess.DEVNULL
        )
    except (OSError, subprocess.SubprocessError) as error:
        return f"unknown ({type(error).__name__})"
    return (completed.stdout.strip().splitlines() or ["unknown"])[0][:99]


def list_agent_files(path: str) -> tuple[str, ...]:
    """What has to be readable for this program to run: itself, its package and those beside it, its interpreter's binary."""
    real_path = Path(os.path.realpath(path))
    paths = [path, str(real_path)]
    modules = [folder for folder in real_path.parents if folder.name == "node_modules"]
    if modules:  # a package and the one with the binary for this machine, which may lie beside it or in it
        top_folder = modules[-1]
        paths.append(str(top_folder / real_path.relative_to(top_folder).parts[0]))
    paths += find_interpreter(real_path)
    return tuple(dict.fromkeys(paths))


def find_interpreter(real_path: Path) -> list[str]:
    """The interpreter that a script names in its first line; none for a binary."""
    try:
        with real_path.open("rb") as file:
            first_line = file.readline(256)
    except OSError:
        return []
    if not first_line.startswith(b"#!"):
        return []
    words = first_line[2:].decode(errors="replace").split()
    program = next((word for word in words[1:] if not word.startswith("-")), words[0]) if words[0].endswith("/env") else words[0]
    interpreter_path = shutil.which(program)
    return [] if interpreter_path is None else [interpreter_path, os.path.realpath(interpreter_path)]
