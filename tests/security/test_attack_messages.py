"""Attacks by words: forged messages of workers, noise on the wire, worlds that lie."""

from __future__ import annotations

import socket
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from attacks import BOOK, ON, RING, START, WALK, opened, sound
from hypothesis import given, settings
from hypothesis import strategies as st
from minds import Scripted

from lawbook.core import ipc
from lawbook.core.hypothesis import ENGINE, Hypothesis
from lawbook.core.record import Action, Status
from lawbook.core.results import Probe, RunOutcome
from lawbook.errors import LawbookError, WorldError
from lawbook.ledger.events import EventKind
from lawbook.ledger.ledger import Ledger
from lawbook.runs.lifecycle import resume_run
from lawbook.runs.loops.memento3 import play
from lawbook.sandbox.host import Host
from lawbook.sandbox.worker_client import CandidatePlan
from lawbook.sandbox.worker_replies import BrokenReplyError, decode_fault, decode_search_reply
from lawbook.worlds.process import WorldProcess

# -- forged messages -------------------------------------------------------------------------------------

ANYTHING = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=5)
    | st.sampled_from(["bfs", "own", "nodes", "running", 1]),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


@settings(max_examples=200, deadline=None)
@given(st.fixed_dictionaries({}, optional=dict.fromkeys(("method", "cut", "nodes", "actions", "keyed"), ANYTHING)), ANYTHING)
def test_whatever_a_worker_answers_is_read_or_broken(answer: dict[str, Any], told: Any) -> None:
    with suppress(BrokenReplyError):
        found = decode_search_reply(answer, START, 50, 1.0)
        if isinstance(found, CandidatePlan):
            assert all(type(action) is Action and 0 < action.id < 1 << 31 for action in found.actions)
    with suppress(BrokenReplyError):
        fault = decode_fault({"fault": told}, step=told)
        assert fault.step is None or type(fault.step) is int


@settings(max_examples=200, deadline=None)
@given(
    st.binary(max_size=40) | st.binary(max_size=60).map(lambda text: b"LAW1" + len(text).to_bytes(4, "little") + bytes(4) + text)
)
def test_whatever_comes_over_the_wire_is_a_message_or_broken(noise: bytes) -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        theirs.sendall(noise)
        theirs.shutdown(socket.SHUT_WR)
        with suppress(ipc.BrokenConnectionError):
            header, blobs = ipc.receive(ours, seconds=1.0)
            assert type(header) is dict and blobs == []


class Unkillable(WorldProcess):
    def _fail(self, how: str, what: str) -> Any:
        raise WorldError(f"{how} at {what}")


def test_whatever_a_world_answers_is_an_observation_or_a_sentence() -> None:
    with Unkillable(WALK) as world:

        @settings(max_examples=300, deadline=None)
        @given(
            st.fixed_dictionaries(
                {},
                optional={
                    "shape": ANYTHING | st.just([1, 1, 8]) | st.just([1.0, 1, 8]),
                    "status": ANYTHING | st.sampled_from(list(Status)),
                    "level": ANYTHING,
                    "available": ANYTHING | st.lists(st.sampled_from([1, 2, 1.0, True]), max_size=3),
                },
            ),
            st.lists(st.binary(max_size=9) | st.just(bytes(8)), max_size=2),
        )
        def attack(header: dict[str, Any], blobs: list[bytes]) -> None:
            with suppress(WorldError):
                seen = world._decode_observation(header, blobs, "action 1")
                assert seen.frame.shape == (1, 8) and not seen.frame.flags.writeable
                assert all(type(number) is int for number in (seen.level, *seen.available))

        attack()


# -- worlds that lie -------------------------------------------------------------------------------------


def lying(name: str) -> str:
    return f"py:lying_worlds:SOURCE/{name}"


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("jumps", "from level 0 to 2 and called that completed"),
        ("sinks", "from level 1 to 0 and called that running"),
        ("sinks-when-over", "from level 1 to 0 and called that over"),
        ("goes-beyond", "from level 0 to 7"),
        ("completes-nothing", "from level 0 to 0"),
        ("rises-unsaid", "from level 0 to 1 and called that running"),
        ("opens-beyond", "level 9"),
        ("rises-at-reset", "from level 0 to 1"),
        ("shouts", "ValueError"),
    ],
)
def test_a_world_that_lies_is_a_sentence(name: str, says: str) -> None:
    with WorldProcess(lying(name)) as world:
        with pytest.raises(WorldError, match=says) as caught:
            world.reset()
            world.step(ON)
            world.step(ON)
            world.reset()
        assert "\n" not in str(caught.value) and len(str(caught.value)) < 1200


@pytest.mark.parametrize("name", ["half-a-level", "below-nothing", "wordy-baselines", "boundless", "endless"])
def test_a_world_that_describes_itself_wrongly_is_not_begun(tmp_path: Path, host: Host, name: str) -> None:
    with pytest.raises(LawbookError, match=r"^The world .*\.$"), opened(tmp_path, host, lying(name)):
        pass


@pytest.mark.parametrize("protocol", ["vanilla", "memento3"])
def test_a_world_where_nothing_can_be_done_ends_as_stuck(tmp_path: Path, host: Host, protocol: str) -> None:
    mind = Scripted([Hypothesis(BOOK, {ENGINE: RING.replace("8", "4")})], [Probe(ON, "?")])
    with opened(tmp_path, host, lying("nothing-to-do"), mind, protocol=protocol) as (_, session):
        assert play(session) is RunOutcome.STUCK
        assert session.state.n_actions == 0
        sound(session)


def test_a_lie_in_the_middle_of_a_run_can_be_resumed_and_told_again(tmp_path: Path, host: Host) -> None:
    mind = Scripted([], [Probe(ON, "?")])
    told = pytest.raises(WorldError, match="from level 0 to 2")
    with told, opened(tmp_path, host, lying("jumps"), mind, protocol="vanilla") as (folder, session):
        play(session)
    with pytest.raises(WorldError, match="from level 0 to 2"), resume_run(folder, host=host, mind=Scripted()) as session:
        play(session)
    with Ledger.open(folder.ledger, readonly=True) as ledger:
        assert ledger.check() is None
        assert sum(event.kind is EventKind.INTEND for event in ledger) == 1
