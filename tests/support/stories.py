"""What torture.py plays: stories whose minds are functions of the ledger, and the player: what runs where it is killed."""

from __future__ import annotations

import json
import os
import socket
import time
import traceback
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lakes import BACKWARDS, LAKE, NO_GOAL, NO_HOLES, NOWHERE, PROBES, TRUE, UNFAITHFUL, Rivals
from minds import Scripted

from lawbook.core.record import Action
from lawbook.core.results import Probe
from lawbook.errors import LawbookError, MindError
from lawbook.ledger.events import EventKind
from lawbook.ledger.ledger import Event, Ledger
from lawbook.minds.base import Mind
from lawbook.minds.registry import make_mind
from lawbook.runs.folder import RunConfig, RunFolder
from lawbook.runs.lifecycle import resume_run, start_run
from lawbook.runs.loops.memento3 import play


class Elsewhere:
    """A mind that needs another process for every answer, as a language model or an agent does: if that is gone, it has none.

    What it answers is a function of the case, as the mind's inside it is. told: is called before every answer.
    """

    def __init__(self, inside: Mind, told: Callable[..., None]) -> None:
        self.inside, self.name, self.proposes, self._told = inside, inside.name, inside.proposes, told
        self._line, theirs = socket.socketpair()
        self.pid = os.fork()
        if self.pid == 0:
            self._line.close()
            with suppress(OSError):
                while question := theirs.recv(1):
                    time.sleep(0.005)
                    theirs.send(question)
            os._exit(0)
        theirs.close()
        told(oracle=self.pid)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inside, name)

    def _asked(self) -> None:
        self._told(thinking=True)
        try:
            self._line.send(b"?")
            if self._line.recv(1):
                return
        except OSError:
            pass
        raise MindError("The process of this mind is gone; resume the run to start another.")

    def propose(self, case):  # type: ignore[no-untyped-def]
        self._asked()
        return self.inside.propose(case)

    def judge(self, case, hypothesis):  # type: ignore[no-untyped-def]
        self._asked()
        return self.inside.judge(case, hypothesis)

    def explore(self, case):  # type: ignore[no-untyped-def]
        self._asked()
        return self.inside.explore(case)

    def receipt(self) -> Mapping[str, float | int | str]:
        return {}


@dataclass(frozen=True)
class Story:
    """What is played: settings and mind. weight: how often, in proportion."""

    config: RunConfig
    mind: Callable[[], Mind]
    weight: int = 1


STORIES = {
    "eventful": Story(
        RunConfig(LAKE, budget=40), lambda: Scripted([UNFAITHFUL, NO_HOLES, NO_GOAL], [*[NOWHERE] * 4, *PROBES]), weight=3
    ),
    "rivals": Story(RunConfig(LAKE, population=2, seed=3), lambda: Rivals([TRUE, BACKWARDS]), weight=2),
    "vanilla": Story(
        RunConfig("py:fickle_worlds:SOURCE/walk", protocol="vanilla", budget=60),
        lambda: Scripted([], [Probe(Action(1 + (k % 5 == 4)), "?") for k in range(60)]),
    ),
    "induced": Story(RunConfig("demo:twins?seed=0", population=2, budget=40), lambda: make_mind("induce")),
}


def player(story: Story, folder: RunFolder | None, out: Path, channel: int, hinder: Callable[[], None]) -> None:
    """Play a run or go on with it, and end this process. Every durable observation is told on `channel` once it is durable."""

    def told(**what: Any) -> None:
        os.write(channel, json.dumps(what).encode() + b"\n")

    commit, seen = Ledger.commit, 0

    def committed(ledger: Ledger) -> None:
        nonlocal seen
        commit(ledger)
        for event in ledger.read_events([EventKind.OBSERVE], after_seq=seen - 1):
            told(observed=event.seq, hash=event.hash)
        seen = len(ledger)

    Ledger.commit = committed  # type: ignore[method-assign]
    code = 70
    try:
        hinder()
        mind = Elsewhere(story.mind(), told)
        if folder is None:
            with start_run(story.config, out, mind=mind) as (_, session):
                play(session)
        else:
            with Ledger.open(folder.ledger, readonly=True) as ledger:
                seen = len(ledger)
            with resume_run(folder, mind=mind) as session:
                play(session)
        code = 0
    except LawbookError as error:
        told(paused=str(error), kind=type(error).__name__)
        code = 3
    except BaseException:
        told(crashed=traceback.format_exc())
    finally:
        os._exit(code)


def told(events: list[Event]) -> list[tuple[str, Any]]:
    """Events without what a clock, a crash or a failed call puts into them: times, openings, plan numbers, plans found twice."""

    def clean(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: clean(inner) for key, inner in value.items() if key not in ("seconds", "head", "plan")}
        return value

    kept = [
        e
        for e in events
        if e.kind not in (EventKind.OPEN, EventKind.PLAN) and not (e.kind is EventKind.CALL and e.body["answer"] is None)
    ]
    return [(event.kind.value, clean(dict(event.body))) for event in kept]


def parted(got: list[tuple[str, Any]], want: list[tuple[str, Any]]) -> str:
    """Where two tellings part; empty when they do not."""
    for number, (one, two) in enumerate(zip(got, want, strict=False)):
        if one != two:
            return f"event {number}: {str(one)[:400]}\n  instead of {str(two)[:400]}"
    return "" if len(got) == len(want) else f"{len(got)} events instead of {len(want)}"
