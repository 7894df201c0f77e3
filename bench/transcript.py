"""What enters an agent's transcript of a whole game at `./law`: `python bench/transcript.py`.

Two agents play `demo:keys` (memento3: a program that is wrong about locks, mended once) and `demo:fog` (vanilla: three steps, then
a look). Each is a fixed list of commands, the same every time. `plain`: the commands that the first doors had, in the order in
which players gave them; `short`: the same game with what the doors offer since. The guide is counted once, and the file that an
agent's client reads by itself.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from random import Random

from lawbook.agents.api.external_mind import ExternalAgentMind
from lawbook.agents.api.framing import send_request
from lawbook.agents.api.socket_server import serve
from lawbook.agents.api.workspace import SOCKET, Workspace
from lawbook.core.hypothesis import ENGINE, RULEBOOK
from lawbook.core.results import RunOutcome
from lawbook.runs.folder import RunConfig
from lawbook.runs.lifecycle import start_run
from lawbook.runs.session import Session

KEYS_PROGRAM = Path(__file__).parent.parent / "docs" / "runs" / "demo-keys-memento3-again"
LOCK_RULE = """    if what.startswith("lock") and int(what[4:]) not in state.keys:  # R5
        return state
"""
RESTORED_RULE = LOCK_RULE.replace("# R5", "# R5, R3")
QUESTION = "what does this action do?"
STRIDE = 3
"""Steps at a time where only what is near is drawn."""


class Reader:
    """An agent's transcript: the commands it gave, the characters it read."""

    def __init__(self, session: Session, workspace: Path, *, quiet: bool) -> None:
        self.session, self.workspace, self.quiet = session, workspace, quiet
        self.n_commands, self.n_characters = 0, 0
        self.per_task: dict[str, list[int]] = {}
        self.task = "guide"

    def law(self, *words: str) -> str:
        with Workspace(self.workspace) as place:
            answer = send_request(place, SOCKET, {"argv": list(words)})
        self._count(1, len(answer.text))
        if not self.quiet:
            print(f"$ ./law {' '.join(words)}\n{answer.text}\n")
        return answer.text

    def read_guide(self) -> None:
        guide, loaded = ((self.workspace / name).read_text(encoding="utf-8") for name in ("GUIDE.md", "AGENTS.md"))
        self._count(1, len(loaded) + (0 if guide in loaded else len(guide)))

    def write(self, name: str, text: str) -> None:
        (self.workspace / name).write_text(text, encoding="utf-8")

    def _count(self, n_commands: int, n_characters: int) -> None:
        self.n_commands += n_commands
        self.n_characters += n_characters
        counts = self.per_task.setdefault(self.task, [0, 0])
        counts[0] += n_commands
        counts[1] += n_characters


def play_keys(reader: Reader, short: bool) -> None:
    """Look, try, write a program that knows no locks, run into one, mend it, and go on to the end."""
    rulebook, program = ((KEYS_PROGRAM / name).read_text(encoding="utf-8") for name in (RULEBOOK, ENGINE))
    answers = "".join(f"R{number}: the code does exactly what this rule says\n" for number in range(1, 8))
    reader.read_guide()
    reader.task = "look"
    for words in [("brief",)] if short else [("brief",), ("observe", "--tiles"), ("observe", "--objects")]:
        reader.law(*words)
    reader.task = "try"
    if short:
        reader.law("probe", "2", "4x2", "3", "1", "-m", QUESTION)
    else:
        for action in "24431":
            reader.law("probe", action, "-m", QUESTION)
    reader.task = "model"
    reader.write(RULEBOOK, rulebook)
    reader.write(ENGINE, program.replace(LOCK_RULE, ""))
    reader.write("fidelity.md", answers)
    if not short:
        reader.law("verify")
        reader.law("propose", "repair_code", "-m", "first rules")
        reader.law("propose", "revise_rulebook", "-m", "first rules")
    else:
        reader.law("propose", "-m", "first rules")
    reader.task = "surprise"
    if not short:
        reader.law("plan")
    reader.law("execute")
    if not short:
        reader.law("counterexample")
        reader.law("observe", "--tiles")
    reader.write(ENGINE, program)
    if not short:
        reader.law("verify")
        reader.law("propose", "repair_code", "-m", "a lock stops who has no key")
    else:
        reader.law("propose", "-m", "a lock stops who has no key")
    reader.task = "levels"
    for _ in range(8):
        if reader.session.outcome is not None:
            break
        if not short:
            reader.law("plan")
        reader.law("execute")
        if reader.session.outcome is None and not short:
            reader.law("observe", "--tiles")
    reader.law("status")


def play_fog(reader: Reader, short: bool) -> None:
    """Walk the shortest way, three steps at a time, and look after each."""
    reader.read_guide()
    reader.task = "look"
    for words in [("brief",)] if short else [("brief",), ("observe", "--tiles"), ("observe", "--objects")]:
        reader.law(*words)
    reader.task = "walk"
    for way in find_fog_ways():
        for start in range(0, len(way), STRIDE):
            actions = [str(action) for action in way[start : start + STRIDE]]
            is_last = start + STRIDE >= len(way)
            if short:
                reader.law("execute", *actions, "--look")
            else:
                reader.law("execute", *actions)
                if not is_last or reader.session.outcome is None:
                    reader.law("observe", "--tiles")
    reader.law("status")


def find_fog_ways() -> Iterator[list[int]]:
    """The shortest way of each level, as actions."""
    from lawbook.worlds.demo.board import MOVES
    from lawbook.worlds.demo.fog import build

    for puzzle, _ in build(Random("fog:0")).stages:
        reached: dict[object, list[int]] = {puzzle.start: []}
        queue = [puzzle.start]
        for state in queue:
            if puzzle.is_won(state):
                yield reached[state]
                break
            for action, move in MOVES.items():
                successor = puzzle.step(state, move)
                if successor not in reached:
                    reached[successor] = [*reached[state], action]
                    queue.append(successor)


GAMES = {"demo:keys": ("memento3", play_keys), "demo:fog": ("vanilla", play_fog)}


@contextmanager
def open_reader(world: str, protocol: str, quiet: bool) -> Iterator[Reader]:
    config = RunConfig(world, mind="drive", protocol=protocol, budget=400)
    with (
        tempfile.TemporaryDirectory(dir=Path.cwd()) as folder,
        start_run(config, Path(folder) / "runs", mind=ExternalAgentMind()) as (_, session),
        serve(session, [Path(folder) / "ws"]),
    ):
        yield Reader(session, Path(folder) / "ws", quiet=quiet)


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--way", choices=("plain", "short", "both"), default="both", help="which commands (default: both)")
    parser.add_argument("--world", choices=(*GAMES, "all"), default="all")
    parser.add_argument("--print", action="store_true", help="print the transcripts too")
    settings = parser.parse_args(arguments)
    for world, (protocol, play) in GAMES.items():
        for way in ("plain", "short"):
            if settings.world not in (world, "all") or settings.way not in (way, "both"):
                continue
            with open_reader(world, protocol, not settings.print) as reader:
                play(reader, way == "short")
                assert reader.session.outcome is RunOutcome.WON, reader.session.outcome
                tasks = ", ".join(f"{task} {count[0]}/{count[1]:,}" for task, count in reader.per_task.items())
                print(
                    f"{world:10} {protocol:9} {way:5} {reader.n_commands:3} commands {reader.n_characters:7,} characters, "
                    f"{reader.session.state.n_actions} actions (commands/characters: {tasks})"
                )
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
