"""Whatever is said at a door, in whatever order, by however many at once, and whatever happens to the files: the gate holds.

The judge is an oracle of its own: it reads the ledger's file with sqlite3 alone, runs the programs itself, and knows the world.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import sqlite3
import struct
import tempfile
import threading
import zlib
from contextlib import ExitStack
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from agents import BLIND, SOURCE, STUCK, TRUE, Corridor, answers_of, changed, session_of
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule, run_state_machine_as_test

from lawbook.agents.api.framing import send_request
from lawbook.agents.api.operation import BUG
from lawbook.agents.api.operations import OPERATIONS
from lawbook.agents.api.socket_server import serve
from lawbook.agents.api.workspace import SOCKET, Workspace
from lawbook.core.hypothesis import ENGINE, RULEBOOK
from lawbook.core.record import Action, Observation
from lawbook.errors import UsageError
from lawbook.protocols import gate
from lawbook.protocols.protocol import Protocol
from lawbook.sandbox.host import Host

BUDGET = 60
EAGER = changed(TRUE, {ENGINE: SOURCE.replace("== 2  # R4", "in (0, 2)  # R4")})
"""Sees goals everywhere."""
_HOARD = """
SEEN = []
_step = step


def step(state, action):
    SEEN.append(1)
    return _step(state, action) if len(SEEN) < 9 else state
"""
FORGETFUL = changed(TRUE, {ENGINE: SOURCE + _HOARD})
BROKEN = changed(TRUE, {ENGINE: "def initial_state(:\n"})
SEVERAL = changed(
    TRUE, {ENGINE: "import ways\n" + SOURCE.replace("{1: -1, 2: 1}", "ways.WAYS"), "ways.py": "WAYS = {1: -1, 2: 1}\n"}
)
UNCITED = changed(TRUE, {ENGINE: SOURCE.replace("# R3", "")})
TEXTS = (TRUE, TRUE, TRUE, BLIND, BLIND, STUCK, EAGER, FORGETFUL, BROKEN, SEVERAL, UNCITED)


# -- the oracle ------------------------------------------------------------------------------------------------------------------


class File:
    """A ledger's file, read by itself."""

    def __init__(self, path: Path) -> None:
        self.database = sqlite3.connect(f"file:{path}?mode=ro", uri=True, check_same_thread=False)

    def events(self) -> list[tuple[int, str, str, str]]:
        return self.database.execute("SELECT seq, kind, body, hash FROM events ORDER BY seq").fetchall()

    def content(self, name: str) -> bytes:
        return zlib.decompress(self.database.execute("SELECT data FROM contents WHERE id = ?", (name,)).fetchone()[0])

    def text(self, name: str) -> str:
        return self.content(name).decode()

    def frame(self, name: str) -> np.ndarray:
        data = self.content(name)
        return np.frombuffer(data, np.uint8, offset=8).reshape(struct.unpack_from("<II", data))


class Model:
    """A program of ours, run here."""

    def __init__(self, files: dict[str, str]) -> None:
        source = files[ENGINE]
        if "ways.py" in files:
            source = source.replace("import ways\n", "").replace("ways.WAYS", files["ways.py"].partition("=")[2].strip())
        self.names: dict[str, Any] = {"__name__": "model"}
        exec(compile(source, ENGINE, "exec"), self.names)  # noqa: S102 - our own texts, from above

    def after(self, first: np.ndarray, level: int, actions: list[list[int]]) -> list[tuple[np.ndarray, str, Any]]:
        """(frame, status, state) at the start and after each action."""
        state = self.names["initial_state"]({"frame": first.copy(), "level": level, "available_actions": [1, 2, 3]})
        found = [self._shown(state)]
        for action in actions:
            state = self.names["step"](state, SimpleNamespace(id=action[0], x=None, y=None))
            found.append(self._shown(state))
        return found

    def holds(self, state: Any, subgoal: str | None) -> bool:
        if subgoal is None:
            return bool(self.names["is_goal"](state))
        names = dict(self.names)
        exec(compile(subgoal, "subgoal", "exec"), names)  # noqa: S102 - our own texts, from below
        return bool(names["subgoal"](state))

    def _shown(self, state: Any) -> tuple[np.ndarray, str, Any]:
        over = self.names.get("is_over", lambda state: False)
        status = "completed" if self.names["is_goal"](state) else "over" if over(state) else "running"
        return self.names["render"](state), status, state


class Oracle:
    """Walks over a ledger and asserts, of everything in it, that it was allowed."""

    def __init__(self, file: File, rules: Protocol, members: int) -> None:
        self.file, self.rules = file, rules
        self.seen: list[tuple[int, str, str, str]] = []
        self.texts: list[tuple[str, dict[str, str]] | None] = [None] * members
        self.steers = [False] * members
        self.proposed: dict[int, tuple[str, dict[str, str]]] = {}
        self.plans: dict[int, dict[str, Any]] = {}
        self.drawn: dict[int, int] = {}
        self.intent: dict[str, Any] | None = None
        self.trajectories: list[tuple[np.ndarray, int, list[list[int]], list[tuple[np.ndarray, str]]]] = []
        self.unpredicted = self.sent = 0
        self.world = Corridor()
        self.over = self.ended = False

    def walk(self) -> None:
        events = self.file.events()
        assert events[: len(self.seen)] == self.seen, "the past was changed"
        new, self.seen = events[len(self.seen) :], events
        for seq, kind, text, _ in new:
            counted = kind == "call" and events[seq - 1][1] == "close"  # what the command that ended the run has cost
            assert not self.ended or counted, "something was written after the end"
            getattr(self, f"_{kind}", lambda seq, body: None)(seq, json.loads(text))
        assert self.intent is None

    def model(self, member: int) -> Model:
        kept = self.texts[member]
        assert kept is not None
        return Model(kept[1])

    def _propose(self, seq: int, body: dict[str, Any]) -> None:
        book, files = self.texts[body["member"]] or ("", {})
        if body["rulebook"] is not None:
            book = self.file.text(body["rulebook"])
        if body["files"] is not None:
            files = {name: self.file.text(text) for name, text in body["files"].items()}
        self.proposed[body["member"]] = book, files

    def _verdict(self, seq: int, body: dict[str, Any]) -> None:
        member = body["member"]
        if body["about"] == "prediction":
            self.steers[member] = False
        elif body["verdict"]["outcome"] == "admissible":
            self.texts[member], self.steers[member] = self.proposed[member], True
            self._exact(member)

    def _exact(self, member: int) -> None:
        """What was accepted reproduces the whole record; rulebook and program cite each other."""
        for first, level, actions, outcomes in self.trajectories:
            shown = self.model(member).after(first, level, actions)
            assert (shown[0][0] == first).all()
            for (frame, status, _), (really, ended) in zip(shown[1:], outcomes, strict=True):
                assert status == ended and (status == "completed" or (frame == really).all())
        book, files = self.texts[member] or ("", {})
        if self.rules.needs_fidelity:
            assert all(rule in files[ENGINE] for rule in ("R1", "R2", "R3", "R4") if f"{rule}." in book)

    def _plan(self, seq: int, body: dict[str, Any]) -> None:
        self.plans[seq] = body

    def _draw(self, seq: int, body: dict[str, Any]) -> None:
        self.drawn[body["plan"]] = 0

    def _intend(self, seq: int, body: dict[str, Any]) -> None:
        assert self.intent is None, "two actions at once"
        self.intent, member = body, body["member"]
        first, level, actions, _ = self.trajectories[-1]
        self.sent += 1
        assert self.sent <= BUDGET
        if body["sort"] == "reset":
            assert body["action"] == [0] and not body["predictions"] and (self.over or actions)
            return
        assert not self.over
        for m, steers in enumerate(self.steers):  # everybody who may steer has said what will be seen
            assert (str(m) in body["predictions"]) == steers
            if steers:
                frame, status, _ = self.model(m).after(first, level, [*actions, body["action"]])[-1]
                said, ended = body["predictions"][str(m)]
                assert status == ended and (self.file.frame(said) == frame).all()
        if body["sort"] == "probe":
            assert body["question"].strip()
            self.unpredicted += not self.steers[member]
            assert self.unpredicted <= 10
            return
        assert self.steers[member], "a plan without an admissible hypothesis"
        plan = self.plans[body["plan"]]
        at = self.drawn[body["plan"]]
        assert plan["member"] == member and plan["actions"][at] == body["action"]
        rest = self.model(member).after(first, level, [*actions, *plan["actions"][at:]])[len(actions) + 1 :]
        assert all(status == "running" for _, status, _ in rest[:-1])
        subgoal = None if plan["subgoal"] is None else self.file.text(plan["subgoal"])
        assert self.model(member).holds(rest[-1][2], subgoal), "a plan that ends nowhere"
        self.drawn[body["plan"]] += 1

    def _observe(self, seq: int, body: dict[str, Any]) -> None:
        action, frame = body["action"], self.file.frame(body["frames"][-1])
        if action is not None:
            assert self.intent is not None and self.intent["action"] == action, "an outcome without its announcement"
            self.intent = None
        really = self.world.reset() if action in (None, [0]) else self.world.step(Action(*action))
        assert (really.frame == frame).all() and really.status == body["status"] and really.level == body["level"]
        if action in (None, [0]):
            self.trajectories.append((frame, body["level"], [], []))
        else:
            self.trajectories[-1][2].append(action)
            self.trajectories[-1][3].append((frame, body["status"]))
            if body["status"] == "completed" and body["level"] < 2:
                self.trajectories.append((frame, body["level"], [], []))
        self.over = body["status"] == "over"

    def _close(self, seq: int, body: dict[str, Any]) -> None:
        self.ended = True


class Watched(Corridor):
    """Looks, whenever an action arrives, whether its announcement is on disk already."""

    file: File

    def step(self, action: Action) -> Observation:
        *_, (_, kind, body, _) = self.file.events()
        assert kind == "intend" and json.loads(body)["action"] == [action.id], "sent before it was announced"
        return super().step(action)


# -- whatever an agent may do ----------------------------------------------------------------------------------------------------

ACTIONS = st.lists(st.sampled_from(["1", "2", "3", "2x2", "2x3", "1x2", "9", "0", "6@1,1", "x", "2,2,2", "-1"]), max_size=4)
WORDS = st.sampled_from(
    ["", " ", "?", "why", "state.at == 0", "state.at == 4", "True or state", "1/0 or state", "state", "--", "\x00", "a" * 3000]
)
PLACES = st.sampled_from(["now", "start", "0.0", "0.1", "1.2", "0.-1", "99", "x"])
CONDITIONS = st.sampled_from(["unusual", "nothing changed", "changed outside row 1", "cell 0,3 is 4", "colour 4 gone", "x"])
SENDING = st.one_of(
    st.tuples(st.sampled_from(["--until", "--stop-if"]), CONDITIONS).map(list),
    st.sampled_from([["--first", "1"], ["--first", "2"], ["--resume"], ["--show"], ["--quiet"], ["--json"], ["--look"], ["--on"]]),
)
COMMANDS = st.one_of(
    st.tuples(st.sampled_from(["execute", "probe"]), ACTIONS, SENDING, SENDING).map(
        lambda parts: [parts[0], *parts[1], *parts[2], *parts[3], "-m", "?"]
    ),
    st.sampled_from([["observe", flag] for flag in ("--map", "--legend", "--objects", "--animation", "--json")]),
    st.just(["propose"]),
    st.tuples(st.sampled_from(["propose"]), st.sampled_from(["retain", "revise_rulebook", "repair_code", "simplify", "else"])).map(
        list
    ),
    ACTIONS.map(lambda actions: ["execute", *actions]),
    st.tuples(ACTIONS, WORDS).map(lambda both: ["execute", *both[0], "--subgoal", both[1], "-m", "?"]),
    st.sampled_from(
        [["execute"], ["plan"], ["verify"], ["reset", "-m", "again"], ["restore"], ["restore", "1"], ["counterexample"]]
    ),
    st.tuples(ACTIONS, WORDS).map(lambda both: ["probe", *both[0][:2], "-m", both[1]]),
    st.tuples(ACTIONS, PLACES).map(lambda both: ["simulate", *both[0], "--at", both[1]]),
    PLACES.map(lambda place: ["observe", place, "--since", "0.0"]),
    ACTIONS.map(lambda actions: ["execute", "--on", *actions]),
    st.tuples(
        st.sampled_from(["plan", "execute"]), st.sampled_from(["--nodes", "--seconds"]), st.sampled_from(["0", "1", "9", "x"])
    ).map(list),
    st.tuples(PLACES, st.sampled_from(["--tiles", "--tiles=2", "--runs", "--mixed"])).map(lambda both: ["observe", *both]),
    st.lists(st.one_of(st.sampled_from([*OPERATIONS, "help", "--help"]), WORDS, PLACES), max_size=4).filter(
        lambda words: "finish" not in words and "--whole" not in words
    ),
)
SENSIBLE = st.one_of(
    st.tuples(st.sampled_from([[], ["2"], ["2x2"], ["2x3"]]), SENDING).map(lambda both: ["execute", *both[0], *both[1]]),
    st.tuples(st.sampled_from(["1 2", "3 3", "2 2 1"]), SENDING).map(
        lambda both: ["probe", *both[0].split(), "-m", "what do they do?", *both[1]]
    ),
    st.sampled_from([["execute"], ["execute", "2x3"], ["execute", "2x4"], ["execute", "2x2"], ["execute", "2"], ["plan"]]),
    st.tuples(st.sampled_from(["1", "1x2", "2", "2x2", "3x2", "1", "2", ""]), st.integers(0, 5)).map(
        lambda both: ["execute", *filter(None, both[:1]), "--subgoal", f"state.at == {both[1]}", "-m", "?"]
    ),
    st.sampled_from("123").map(lambda action: ["probe", action, "-m", "what does it do?"]),
    st.sampled_from([["reset", "-m", "again"], ["restore"], ["restore", "1"], ["verify"], ["counterexample"], ["simulate", "2x3"]]),
    st.sampled_from(["revise_rulebook", "repair_code", "retain", "simplify"]).map(lambda decision: ["propose", decision]),
)
EDITS = st.sampled_from(["append", "delete", "link", "pipe", "folder", "bytes", "swap"])


class Siege(RuleBasedStateMachine):
    host: Host

    def __init__(self) -> None:
        super().__init__()
        self.stack = ExitStack()
        self.folder = Path(tempfile.mkdtemp())

    @initialize(protocol=st.sampled_from(["memento3", "memento3", "no-rulebook"]), members=st.sampled_from([1, 1, 2]))
    def begin(self, protocol: str, members: int) -> None:
        world = Watched()
        self.session = self.stack.enter_context(
            session_of(self.folder / "run", self.host, world=world, protocol=protocol, budget=BUDGET, members=members)
        )
        world.file = File(self.folder / "run" / "ledger.sqlite")
        self.places = [self.folder / f"ws{member}" for member in range(members)]
        self.server = self.stack.enter_context(serve(self.session, self.places))
        self.oracle = Oracle(File(self.folder / "run" / "ledger.sqlite"), self.session.protocol, members)
        self.oracle.walk()

    def say(self, member: int, request: dict[str, Any]) -> int:
        with Workspace(self.places[member % len(self.places)]) as place:
            try:
                reply = send_request(place, SOCKET, request)
            except UsageError:
                return -1  # thrown out, among many
        assert reply.code != BUG and len(reply.text) < 12_000, reply
        return reply.code

    @rule(member=st.integers(0, 1), text=st.sampled_from(TEXTS), answered=st.sampled_from([True, True, True, False]))
    def write(self, member: int, text: Any, answered: bool) -> None:
        place = self.places[member % len(self.places)]
        for name, content in {RULEBOOK: text.rulebook, "fidelity.md": answers_of(text) if answered else "", **text.files}.items():
            _make_way(place / name)
            (place / name).write_text(content)

    @rule(member=st.integers(0, 1), text=st.sampled_from([TRUE, BLIND, SEVERAL]))
    def believe(self, member: int, text: Any) -> None:
        """What a good agent does, so that there is something to guard."""
        self.write(member, text, True)
        first = self.session.state.members[member % len(self.places)].hypothesis is None and self.session.protocol.needs_rulebook
        self.say(member, {"argv": ["propose", "revise_rulebook" if first else "repair_code"]})

    @rule(member=st.integers(0, 1), name=st.sampled_from([ENGINE, RULEBOOK, "fidelity.md", "ways.py"]), how=EDITS)
    def edit(self, member: int, name: str, how: str) -> None:
        _spoil(self.places[member % len(self.places)], name, how)

    @rule(member=st.integers(0, 1), text=st.sampled_from(TEXTS))
    def try_out(self, member: int, text: Any) -> None:
        self.write(member, text, True)
        for decision in ("repair_code", "revise_rulebook"):
            self.say(member, {"argv": ["propose", decision]})

    @rule(
        member=st.integers(0, 1),
        text=st.sampled_from([TRUE, TRUE, BLIND, BLIND, SEVERAL, STUCK, None]),
        several=st.lists(SENSIBLE, min_size=2, max_size=6),
    )
    def play(self, member: int, text: Any, several: list[list[str]]) -> None:
        if text is not None:
            self.believe(member, text)
        for words in several:
            self.command(member, words)

    @rule(member=st.integers(0, 1), words=COMMANDS)
    def command(self, member: int, words: list[str]) -> None:
        member %= len(self.places)
        before = self.session.state.n_actions
        standing = _texts(self.places[member])
        accepted = self.session.state.members[member].hypothesis
        self.say(member, {"argv": words})
        if words[:1] == ["execute"] and self.session.state.n_actions > before:
            assert accepted is not None and all(standing.get(name) == text for name, text in accepted.files.items())
            assert not self.session.protocol.needs_rulebook or standing.get(RULEBOOK) == accepted.rulebook

    @rule(
        member=st.integers(0, 1),
        name=st.sampled_from(sorted(set(OPERATIONS) - {"finish"})),
        fields=st.dictionaries(
            st.sampled_from(["actions", "action", "message", "subgoal", "decision", "place", "words", "whole?", "member"]),
            st.one_of(st.none(), st.booleans(), st.integers(-3, 3), WORDS, ACTIONS),
            max_size=3,
        ),
    )
    def tool(self, member: int, name: str, fields: dict[str, Any]) -> None:
        self.say(member, {"tool": name, "arguments": fields})

    @rule(
        request=st.recursive(
            st.one_of(st.none(), st.booleans(), st.integers(), st.text(max_size=20)),
            lambda inner: (
                st.dictionaries(st.sampled_from(["argv", "tool", "arguments", "stdin", "say", "member"]), inner, max_size=3)
                | st.lists(inner, max_size=3)
            ),
            max_leaves=6,
        ).filter(lambda request: "finish" not in json.dumps(request))
    )
    def forge(self, request: Any) -> None:
        self.say(0, request)

    @rule(
        storm=st.lists(st.tuples(st.integers(0, 1), st.one_of(SENSIBLE, SENSIBLE, COMMANDS)), min_size=3, max_size=6),
        text=st.sampled_from(TEXTS),
        how=EDITS,
    )
    def at_once(self, storm: list[tuple[int, list[str]]], text: Any, how: str) -> None:
        """Several clients and an editor, all at the same time."""
        failed: list[BaseException] = []

        def guarded(deed: Any, *given: Any) -> None:
            try:
                deed(*given)
            except BaseException as error:
                failed.append(error)

        threads = [threading.Thread(target=guarded, args=(self.say, member, {"argv": words})) for member, words in storm]
        threads.append(threading.Thread(target=guarded, args=(self._meddle, text, how)))
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert not failed, failed

    def _meddle(self, text: Any, how: str) -> None:
        for _ in range(3):
            with contextlib.suppress(OSError):
                self.write(0, text, True)
                _spoil(self.places[0], ENGINE, how)

    @rule()
    def die_waiting(self) -> None:
        """A client that is killed before its turn."""
        import socket

        with Workspace(self.places[0]) as place, socket.socket(socket.AF_UNIX) as sock:
            sock.connect(f"/proc/self/fd/{place.descriptor}/{SOCKET}")
            sock.sendall(b'{"argv": ["execute", "2"]}\n{"argv": ["execute", "2"]}\n')

    @invariant()
    def everything_was_allowed(self) -> None:
        if hasattr(self, "oracle"):
            with self.server.lock:
                self.oracle.walk()

    def teardown(self) -> None:
        try:
            if hasattr(self, "oracle"):
                self.oracle.walk()
                assert self.session.event_log.ledger.check() is None
        finally:
            self.stack.close()
            shutil.rmtree(self.folder, ignore_errors=True)


def _texts(place: Path) -> dict[str, str]:
    found = {}
    for path in place.glob("*.*"):
        if path.is_file() and not path.is_symlink():
            with contextlib.suppress(UnicodeDecodeError):
                found[path.name] = path.read_text()
    return found


def _make_way(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        path.rmdir()
    elif path.is_symlink() or path.exists():
        path.unlink(missing_ok=True)


def _spoil(place: Path, name: str, how: str) -> None:
    path = place / name
    if how == "append":
        if path.is_file():
            with path.open("a") as file:
                file.write("\n# more\n")
        return
    content = path.read_bytes() if path.is_file() else b""
    _make_way(path)
    match how:
        case "link":
            aside = place / f"aside-{name}"
            aside.write_bytes(content)
            path.symlink_to(aside)
        case "pipe":
            os.mkfifo(path)
        case "folder":
            path.mkdir()
        case "bytes":
            path.write_bytes(b"\xff" + content)
        case "swap":
            path.write_bytes(content.replace(b"2: 1", b"2: -1"))


@pytest.mark.slow
def test_no_sequence_gets_past_the_gate() -> None:
    with Host() as Siege.host:
        run_state_machine_as_test(
            Siege,
            settings=settings(
                max_examples=int(os.environ.get("LAWBOOK_FUZZ", "15")),
                stateful_step_count=12,
                deadline=None,
                suppress_health_check=list(HealthCheck),
                print_blob=True,
            ),
        )


def test_the_oracle_notices(tmp_path: Path, host: Host, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the gate taken out, it complains: so what it says above is worth something."""
    for name, what in (("explain_plan_refusal", "without an admissible"), ("explain_end_refusal", "ends nowhere")):
        with session_of(tmp_path / name, host, budget=BUDGET) as session:
            oracle = Oracle(File(tmp_path / name / "ledger.sqlite"), session.protocol, 1)
            with monkeypatch.context() as patch:
                patch.setattr(gate, name, lambda *given: None)
                if name == "explain_end_refusal":
                    from lawbook.core.hypothesis import Decision, Proposal

                    session.mind.fidelity_texts[0] = answers_of(TRUE)  # type: ignore[union-attr]
                    assert session.propose(Proposal(Decision.REVISE_RULEBOOK, TRUE.rulebook, TRUE.files)).admissible
                session.execute([Action(2)])
            with pytest.raises(AssertionError, match=what):
                oracle.walk()
