"""Typed events: every kind comes back as it was, every recorded body is written again as it stood, and no other body passes."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from lawbook.arc.recording_io import import_recording
from lawbook.core.hypothesis import Decision, Trigger
from lawbook.core.record import Action, ActionKind, Status
from lawbook.core.results import (
    Counterexample,
    Judgement,
    MismatchRegion,
    Probe,
    ProgramError,
    RunOutcome,
    Verdict,
    VerdictKind,
)
from lawbook.core.spending import Caps
from lawbook.errors import UsageError
from lawbook.ledger.codec import decode, encode
from lawbook.ledger.events import (
    EVENT_CLASSES,
    EVENT_KINDS,
    AnyEvent,
    CallEvent,
    CloseEvent,
    DrawEvent,
    EventKind,
    IntendEvent,
    NoPlanEvent,
    NoteEvent,
    ObserveEvent,
    OpenEvent,
    PlanEvent,
    PredictedOutcome,
    ProposeEvent,
    RecordedConfinement,
    RecordedSandbox,
    RecordingSource,
    StoredProposal,
    StoredSubgoal,
    VerdictEvent,
)
from lawbook.ledger.ledger import Ledger
from lawbook.ledger.opening import MalformedEventError, RecordedSettings, RecordedSpec
from lawbook.ledger.sqlite_store import encode_canonical
from lawbook.runs.folder import RunConfig, RunFolder
from lawbook.runs.lifecycle import resume_run, start_run
from lawbook.runs.loops.memento3 import play

RECORDED = Path(__file__).parents[1] / "support" / "recorded_runs"
NUMBERS, TEXTS, IDS = st.integers(0, 2**31), st.text(max_size=30), st.text("0123456789abcdef", min_size=40, max_size=40)
AMOUNTS = st.floats(0, 1e9) | st.integers(0, 10**9)
JSON = st.none() | st.booleans() | NUMBERS | TEXTS | st.lists(NUMBERS, max_size=3)
MAPPINGS = st.dictionaries(TEXTS, JSON, max_size=3)
STATUSES = st.sampled_from(Status)
STATUS_SETS = st.frozensets(STATUSES, min_size=1)
ACTIONS = NUMBERS.map(Action) | st.builds(Action, NUMBERS, NUMBERS, NUMBERS)
COLOURS = st.lists(st.integers(0, 255), max_size=3).map(tuple)
REGIONS = st.builds(MismatchRegion, NUMBERS, NUMBERS, NUMBERS, NUMBERS, NUMBERS, COLOURS, COLOURS, COLOURS)
COUNTEREXAMPLES = st.builds(
    Counterexample,
    NUMBERS,
    NUMBERS,
    NUMBERS,
    st.none() | ACTIONS,
    STATUSES,
    STATUSES,
    NUMBERS,
    st.lists(REGIONS, max_size=2).map(tuple),
    TEXTS,
)
JUDGEMENTS = st.builds(Judgement, st.booleans(), st.dictionaries(TEXTS, TEXTS, max_size=3), TEXTS)
ERRORS = st.builds(ProgramError, TEXTS, TEXTS, st.none() | NUMBERS, st.none() | NUMBERS)
VERDICTS = st.builds(
    Verdict,
    st.sampled_from(VerdictKind),
    TEXTS,
    st.none() | COUNTEREXAMPLES,
    st.none() | ERRORS,
    st.none() | JUDGEMENTS,
    NUMBERS,
    AMOUNTS,
)
PROPOSALS = st.builds(
    StoredProposal,
    st.sampled_from(Decision),
    st.none() | IDS,
    st.none() | st.dictionaries(TEXTS, IDS, max_size=3),
    TEXTS,
    TEXTS,
)
SUBGOALS, PROBES = st.builds(StoredSubgoal, IDS, TEXTS, TEXTS), st.builds(Probe, ACTIONS, TEXTS)
OPTIONAL_NUMBERS, OPTIONAL_TEXTS, OPTIONAL_IDS = st.none() | NUMBERS, st.none() | TEXTS, st.none() | IDS
CAPS = st.builds(Caps, st.none() | st.floats(0, 1e9), OPTIONAL_NUMBERS, OPTIONAL_NUMBERS, st.none() | st.floats(0, 1e9))


def calls(op: str, answers: st.SearchStrategy[Any], **more: st.SearchStrategy[Any]) -> st.SearchStrategy[CallEvent]:
    return st.builds(CallEvent, NUMBERS, NUMBERS, st.just(op), st.none() | answers, AMOUNTS, MAPPINGS, **more)


EVENTS: dict[EventKind, st.SearchStrategy[AnyEvent]] = {
    EventKind.OPEN: st.builds(
        OpenEvent,
        MAPPINGS.map(RecordedSettings),
        MAPPINGS.map(RecordedSpec),
        st.none() | st.dictionaries(TEXTS, TEXTS, max_size=2),
        st.none() | st.builds(RecordedSandbox, TEXTS, st.none() | MAPPINGS),
        st.booleans(),
        st.none() | CAPS,
        st.none() | st.builds(RecordingSource, TEXTS, TEXTS, TEXTS),
    ),
    EventKind.OBSERVE: st.builds(
        ObserveEvent,
        NUMBERS,
        st.none() | ACTIONS,
        st.lists(IDS, min_size=1, max_size=4).map(tuple),
        STATUSES,
        NUMBERS,
        st.lists(NUMBERS, max_size=7).map(tuple),
        OPTIONAL_IDS,
        st.one_of(st.just(0.0), st.floats(-1e9, 1e9)),
        st.booleans(),
    ),
    EventKind.PROPOSE: st.builds(ProposeEvent, NUMBERS, st.sampled_from(Trigger), st.sampled_from(Trigger), NUMBERS, PROPOSALS),
    EventKind.VERDICT: st.builds(VerdictEvent, NUMBERS, st.sampled_from(["proposal", "prediction", "explore"]), VERDICTS),
    EventKind.INTEND: st.builds(
        IntendEvent,
        ACTIONS,
        st.sampled_from(ActionKind),
        OPTIONAL_NUMBERS,
        OPTIONAL_NUMBERS,
        TEXTS,
        st.dictionaries(NUMBERS, st.builds(PredictedOutcome, IDS, STATUS_SETS, OPTIONAL_IDS), max_size=3),
    ),
    EventKind.PLAN: st.builds(
        PlanEvent,
        NUMBERS,
        OPTIONAL_IDS,
        TEXTS,
        NUMBERS,
        AMOUNTS,
        OPTIONAL_TEXTS,
        st.lists(ACTIONS, max_size=4).map(tuple),
        st.booleans(),
        TEXTS,
        aim=st.none() | st.sampled_from(["goal", "subgoal", "frontier"]),
        risk=NUMBERS,
    )
    | st.builds(
        PlanEvent,
        NUMBERS,
        OPTIONAL_IDS,
        TEXTS,
        NUMBERS,
        AMOUNTS,
        OPTIONAL_TEXTS,
        st.none(),
        reason=TEXTS,
        exhausted=st.booleans(),
    ),
    EventKind.DRAW: st.builds(
        DrawEvent,
        st.lists(st.lists(NUMBERS, max_size=3).map(tuple), max_size=3).map(tuple),
        NUMBERS,
        NUMBERS,
        st.none() | st.lists(IDS, max_size=3).map(tuple),
        st.none() | st.lists(STATUS_SETS, max_size=3).map(tuple),
        st.none() | st.lists(OPTIONAL_IDS, max_size=3).map(tuple),
    )
    | st.builds(NoPlanEvent, st.lists(NUMBERS, max_size=3).map(tuple)),
    EventKind.CALL: calls("propose", PROPOSALS)
    | calls("judge", JUDGEMENTS)
    | calls("explore", SUBGOALS | PROBES)
    | calls("compile", IDS, request=IDS, failure=OPTIONAL_TEXTS)
    | calls("propose", IDS, request=IDS)
    | calls("door", st.none())
    | calls("coder", st.none()),
    EventKind.NOTE: st.builds(
        NoteEvent,
        TEXTS,
        TEXTS,
        OPTIONAL_IDS,
        OPTIONAL_NUMBERS,
        st.none() | st.builds(RecordedConfinement, TEXTS, TEXTS, MAPPINGS),
    ),
    EventKind.CLOSE: st.builds(CloseEvent, st.sampled_from(RunOutcome), TEXTS, TEXTS),
}


def test_every_kind_has_its_class() -> None:
    assert set(EVENT_CLASSES) == set(EventKind) == set(EVENTS)
    assert set(EVENT_KINDS) == set(get_args(AnyEvent))
    assert all(EVENT_KINDS[event_class] is kind for kind, classes in EVENT_CLASSES.items() for event_class in classes)


@pytest.mark.parametrize("kind", EventKind)
@settings(max_examples=80, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(data=st.data())
def test_an_event_comes_back_as_it_was(kind: EventKind, data: st.DataObject) -> None:
    """Through JSON, as the ledger has it; and its body does, byte for byte."""
    event = data.draw(EVENTS[kind])
    body = json.loads(encode_canonical(encode(event)))
    assert decode(kind, body) == event
    assert encode_canonical(encode(decode(kind, body))) == encode_canonical(body)


@pytest.mark.parametrize("kind", EventKind)
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(data=st.data())
def test_a_forged_body_is_refused_in_one_sentence(kind: EventKind, data: st.DataObject) -> None:
    """One part of a true body left out, or of a type that it never has; keys that nobody knows are left alone."""
    body: dict[str, Any] = json.loads(encode_canonical(encode(data.draw(EVENTS[kind]))))
    assert decode(kind, body | {"unknown": [1]}) == decode(kind, body)
    name = data.draw(st.sampled_from(sorted(body)))
    if name not in OPTIONAL and (kind, name) != (EventKind.NOTE, "member"):
        with pytest.raises(MalformedEventError, match=r"(?s)^An event \(.*cannot be read.*altered\.$"):
            decode(kind, {key: value for key, value in body.items() if key != name})
    if name != "resumed":
        with pytest.raises(UsageError, match=r"(?s)^An event \(.*cannot be read.*altered\.$"):
            decode(kind, body | {name: True} if type(body[name]) is not bool else body | {name: "true"})


PLANLESS = {"classes": [], "drawn": None, "plan": None, "asked": [0, 2]}
DRAWN = {"classes": [[0], [1]], "drawn": 1, "plan": 7}


def test_a_draw_from_no_classes_says_who_is_asked_why() -> None:
    assert decode(EventKind.DRAW, PLANLESS) == NoPlanEvent((0, 2)) and encode(NoPlanEvent((0, 2))) == PLANLESS
    for altered in ({"classes": [[0]]}, {"drawn": 0}, {"plan": 7}, {"asked": None}, {"asked": ["0"]}):
        with pytest.raises(MalformedEventError, match="cannot be read"):
            decode(EventKind.DRAW, PLANLESS | altered)


def test_a_draw_says_what_is_predicted_where_its_run_says_all_of_it() -> None:
    frames, statuses = {"ahead": ["a" * 40, "b" * 40]}, {"ahead_statuses": ["running", "completed"]}
    for body in (DRAWN, DRAWN | frames, DRAWN | frames | statuses):
        event = decode(EventKind.DRAW, body)
        assert isinstance(event, DrawEvent) and encode(event) == body
        outcomes = (
            PredictedOutcome("a" * 40, frozenset({Status.RUNNING})),
            PredictedOutcome("b" * 40, frozenset({Status.COMPLETED})),
        )
        assert event.predictions == (outcomes if "ahead_statuses" in body else ())
    for uneven in (DRAWN | statuses, DRAWN | frames | {"ahead_statuses": ["running"]}):
        event = decode(EventKind.DRAW, uneven)
        assert isinstance(event, DrawEvent)
        with pytest.raises(ValueError, match="argument"):
            _ = event.predictions
    with pytest.raises(MalformedEventError, match="cannot be read"):
        decode(EventKind.DRAW, DRAWN | frames | {"ahead_statuses": ["running", "sleeping"]})


INTENDED = {"action": [1], "sort": "probe", "member": 0, "plan": None, "question": "?"}


@pytest.mark.parametrize(
    ("packed", "expected"),
    [
        (["a", "over"], PredictedOutcome("a", frozenset({Status.OVER}))),
        (["a", ["running"], "b"], PredictedOutcome("a", frozenset({Status.RUNNING}), "b")),
        (["a", ["running", "over"], None], PredictedOutcome("a", frozenset({Status.OVER, Status.RUNNING}))),
        (["a", ["completed", "over"], "b"], PredictedOutcome("a", frozenset({Status.OVER, Status.COMPLETED}), "b")),
    ],
)
def test_a_prediction_is_a_pair_where_all_is_claimed(packed: list[Any], expected: PredictedOutcome) -> None:
    body = INTENDED | {"predictions": {"0": packed}}
    event = decode(EventKind.INTEND, body)
    assert isinstance(event, IntendEvent) and event.predictions == {0: expected} and encode(event) == body
    assert expected.status.value == (packed[1] if len(packed) == 2 else packed[1][0]) and expected.is_whole == (len(packed) == 2)


@pytest.mark.parametrize(
    "packed", [[], ["a"], ["a", []], ["a", [], None], ["a", "over", None], ["a", ["over", "over"], None], ["a", ["over"], 1]]
)
def test_a_prediction_that_is_none_is_told(packed: list[Any]) -> None:
    with pytest.raises(MalformedEventError, match="cannot be read"):
        decode(EventKind.INTEND, INTENDED | {"predictions": {"0": packed}})


def test_a_draw_says_where_cells_and_statuses_are_left_open() -> None:
    body = DRAWN | {"ahead": ["a", "b"], "ahead_statuses": [["running", "over"], "completed"], "ahead_open": ["c", None]}
    event = decode(EventKind.DRAW, body)
    assert isinstance(event, DrawEvent) and encode(event) == body
    assert event.predictions == (
        PredictedOutcome("a", frozenset({Status.RUNNING, Status.OVER}), "c"),
        PredictedOutcome("b", frozenset({Status.COMPLETED})),
    )


OPTIONAL = {
    "versions",
    "sandbox",
    "resumed",
    "caps",
    "recording",
    "line",
    "reward",
    "unusable",
    "ahead",
    "ahead_statuses",
    "ahead_open",
    "unclaimed",
    "aim",
    "risk",
    "request",
    "failed",
    "by",
    "confinement",
}


@pytest.fixture(scope="module")
def ledgers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[Ledger]]:
    """Played with a mind (two members, a probe, a resumption), and imported from a recording."""
    out = tmp_path_factory.mktemp("runs")
    with start_run(RunConfig("demo:maze", mind="induce", population=2, budget=60, seed=3), out) as (folder, session):
        session.note("a word")
        session.probe(Action(1), "what then?")
    with resume_run(folder, caps=Caps(calls=9)) as session:
        play(session)
    state = {"game_id": "ls20-x", "state": "NOT_FINISHED", "levels_completed": 0, "win_levels": 3, "available_actions": [1, 2]}
    line = {"timestamp": "2026-01-02T03:04:05+00:00", "data": state | {"frame": [[[0, 1], [2, 3]]], "action_input": {"id": 0}}}
    recording = out / "one.jsonl"
    recording.write_text(json.dumps(line) + "\n")
    imported = import_recording(recording, out / "imported")
    opened = [Ledger.open(RunFolder(Path(one.path)).ledger, readonly=True) for one in (folder, imported)]
    yield opened
    for ledger in opened:
        ledger.close()


def test_every_recorded_body_is_written_again_as_it_stands(ledgers: list[Ledger]) -> None:
    kinds = set()
    for ledger in ledgers:
        for event in ledger:
            assert encode_canonical(encode(event.data)) == encode_canonical(dict(event.body)), event.kind
            assert type(event.data) in EVENT_CLASSES[event.kind] and event.data is event.data
            kinds.add(event.kind)
    assert kinds == set(EventKind)


@pytest.mark.parametrize("path", sorted(RECORDED.glob("*/run/ledger.sqlite")), ids=lambda path: path.parts[-3])
def test_every_body_of_an_older_run_is_written_again_as_it_stands(path: Path, tmp_path: Path) -> None:
    shutil.copy(path, tmp_path / path.name)
    with Ledger.open(tmp_path / path.name, readonly=True) as ledger:
        events = list(ledger)
    for event in events:
        assert encode_canonical(encode(event.data)) == encode_canonical(dict(event.body)), event.kind
    assert len(events) > 20
