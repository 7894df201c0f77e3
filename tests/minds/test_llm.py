"""A language model as a mind, through the real session: whole games, what it gets wrong, and what it is told then."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from lamps import BESIDE, CLICKS, TRUE, UNFAITHFUL, WORLD, WRONG
from pydantic_ai.messages import ToolCallPart, ToolReturnPart
from scripted_model import FAITHFUL, RETAIN, Script, ScriptedModel, book, edit, program, reflection

from lawbook.core.hypothesis import ENGINE, RULEBOOK, Decision
from lawbook.core.record import Action
from lawbook.core.results import RunOutcome, VerdictKind
from lawbook.ledger.events import EventKind
from lawbook.ledger.ledger import Event
from lawbook.minds.base import Mind
from lawbook.minds.fallback import FallbackMind
from lawbook.minds.llm.direct_baseline import DirectMind
from lawbook.minds.llm.language_mind import LLMMind
from lawbook.minds.llm.model import ModelError, Request
from lawbook.minds.registry import make_mind
from lawbook.runs.folder import RunConfig, RunFolder
from lawbook.runs.lifecycle import resume_run, start_run
from lawbook.runs.loops.memento3 import play
from lawbook.runs.state import State
from lawbook.sandbox.host import Host

AGREE: Script = {
    "judge": [FAITHFUL],
    "simplify": ["RETAIN"],
    "reflect": [RETAIN],
    "explore": ["PROBE: 6 x=30 y=27\nQUESTION: a lamp?"],
}
"""What a model says that has nothing to add; scripts begin from it."""
CODE_ALONE = TRUE.files[ENGINE].partition("    return frozenset({lamp})")[2].partition("\n")[0]


def run(tmp_path: Path, host: Host, model: ScriptedModel, **settings: Any) -> tuple[State, list[Event]]:
    """A whole run to its end: its state and its events."""
    mind: Mind = settings.pop("mind", None) or LLMMind("llm:scripted", model)
    with start_run(RunConfig(settings.pop("world", WORLD), **settings), tmp_path, host=host, mind=mind) as (_, session):
        play(session)
        return session.state, list(session.event_log.ledger)


def bodies(events: list[Event], kind: EventKind) -> list[dict[str, Any]]:
    return [dict(event.body) for event in events if event.kind is kind]


# -- whole games ------------------------------------------------------------------------------


def test_a_wrong_rulebook_is_falsified_by_its_first_action_and_the_revised_one_wins_every_level(tmp_path: Path, host: Host) -> None:
    model = ScriptedModel(
        AGREE
        | {
            "revise": [book(WRONG), edit(RULEBOOK, *(one.rulebook.split("\n")[1] for one in (WRONG, TRUE)))],
            "compile": [program(WRONG), edit(ENGINE, "    return frozenset({lamp})", "    return frozenset({lamp})" + CODE_ALONE)],
            "reflect": [reflection("revise_rulebook", "Lamps beside it were switched too."), RETAIN],
        }
    )
    state, events = run(tmp_path, host, model)
    assert state.outcome is RunOutcome.WON and state.n_mismatches == 1
    assert state.n_actions <= 1 + sum(CLICKS) + 1
    assert model.ops[:6] == ["revise", "compile", "judge", "reflect", "revise", "compile"]
    assert state.members[0].hypothesis == TRUE
    diagnoses = [version.diagnosis for version in state.members[0].history if version.decision is Decision.REVISE_RULEBOOK]
    assert diagnoses == ["", "Lamps beside it were switched too."]
    told = model.requests[3].text
    assert "48 of 4096 cells are wrong" in told and "# Its steps\n\n1. action 6@31,27: 96 cells changed in 1 region" in told
    calls = bodies(events, EventKind.CALL)
    assert {call["op"] for call in calls} >= {"revise", "compile", "judge", "reflect", "propose"}
    assert all("-" in call["receipt"]["prompt"] for call in calls if call["op"] in ("revise", "compile", "reflect"))


def test_unfaithful_code_is_caught_by_the_judge_who_sees_nothing_of_how_it_came_about(tmp_path: Path, host: Host) -> None:
    def judged(request: Request) -> str:
        if CODE_ALONE in request.text:
            return FAITHFUL
        return (
            "R1: engine:1, there\nR2: MISSING, neighbours stay as they are\nR3: there\nVERDICT: unfaithful\nREASON: R2 lacks them\n"
        )

    model = ScriptedModel(
        AGREE
        | {
            "revise": [book(TRUE)],
            "compile": [program(UNFAITHFUL, "Between us: this is good enough."), program(TRUE)],
            "reflect": [reflection("repair_code", "The neighbours of R2 are missing."), RETAIN],
            "judge": judged,
        }
    )
    state, events = run(tmp_path, host, model)
    assert state.outcome is RunOutcome.WON and state.n_mismatches == 0 and state.n_actions == sum(CLICKS)
    outcomes = [version.outcome for version in state.members[0].history]
    assert outcomes[:2] == [VerdictKind.UNFAITHFUL, VerdictKind.ADMISSIBLE]
    verdict = next(body["verdict"] for body in bodies(events, EventKind.VERDICT) if body["verdict"]["outcome"] == "unfaithful")
    assert verdict["reason"] == "R2 lacks them" and "MISSING" in verdict["judgement"]["rules"]["R2"]
    for request in model.requests:
        if request.op == "judge":
            assert "Between us" not in request.text and "trajectory" not in request.text and "Diagnosis" not in request.text
    assert "R2 lacks them" in next(one.text for one in model.requests if one.op == "reflect")


def test_a_repair_that_touches_the_rulebook_is_told_to_leave_it_alone(tmp_path: Path, host: Host) -> None:
    meddling = edit(RULEBOOK, "R3. When every lamp is lit the level is completed.", "R3. Nothing completes it.") + program(TRUE)
    model = ScriptedModel(
        AGREE
        | {
            "revise": [book(TRUE)],
            "compile": [program(UNFAITHFUL), book(WRONG) + program(TRUE), meddling, program(TRUE)],
            "reflect": [reflection("repair_code"), reflection("repair_code"), RETAIN],
        }
    )
    state, _ = run(tmp_path, host, model)
    assert state.outcome is RunOutcome.WON and state.n_mismatches == 1
    assert all(version.hypothesis.rulebook == TRUE.rulebook for version in state.members[0].history)
    told = [request.turns[-1].reply for request in model.requests if request.turns]
    assert told and all(f"{RULEBOOK} stays as it is" in one or f"no {RULEBOOK} to edit" in one for one in told)


def test_a_world_is_won_without_a_rulebook_too(tmp_path: Path, host: Host) -> None:
    model = ScriptedModel(AGREE | {"compile": [program(WRONG), program(TRUE)], "reflect": [reflection("repair_code"), RETAIN]})
    state, _ = run(tmp_path, host, model, protocol="no-rulebook")
    assert state.outcome is RunOutcome.WON and state.n_mismatches == 1
    assert set(model.ops) <= {"compile", "reflect", "simplify"}
    assert state.members[0].hypothesis is not None and state.members[0].hypothesis.rulebook == ""


# -- what cannot be read ----------------------------------------------------------------------


def test_an_unreadable_answer_is_asked_for_once_more_with_the_reason(tmp_path: Path, host: Host) -> None:
    model = ScriptedModel(
        AGREE
        | {"revise": ["I would rather not say.", book(TRUE)], "compile": ["", program(TRUE)], "judge": ["Looks fine!", FAITHFUL]}
    )
    state, _ = run(tmp_path, host, model)
    assert state.outcome is RunOutcome.WON
    assert model.ops[:6] == ["revise", "revise", "compile", "compile", "judge", "judge"]
    told = {request.op: request.turns[-1] for request in model.requests[:6] if request.turns}
    assert told["revise"].answer == "I would rather not say." and "There is no rulebook in your answer" in told["revise"].reply
    assert told["compile"].reply.startswith("Your answer was empty.")
    assert "There is no VERDICT" in told["judge"].reply


def test_a_model_that_cannot_be_read_at_all_ends_the_run_honestly(tmp_path: Path, host: Host) -> None:
    noise = ["I am only a small model."]
    model = ScriptedModel(dict.fromkeys(("revise", "compile", "judge", "reflect", "explore", "simplify"), noise))
    state, _ = run(tmp_path, host, model)
    assert state.outcome is RunOutcome.STUCK and state.n_actions == 0
    history = state.members[0].history
    assert [version.outcome for version in history] == [VerdictKind.REFUSED] * 5
    assert "There is no rulebook in your answer" in history[0].reason
    assert any(history[0].reason in request.text for request in model.requests)  # and it is told


def test_the_same_proposal_twice_is_refused_unread(tmp_path: Path, host: Host) -> None:
    one, two = (program(TRUE).replace("def render", f"def {name}") for name in ("rendered", "drawn"))
    model = ScriptedModel(
        AGREE
        | {"revise": [book(TRUE)], "compile": [one, two, one, program(TRUE)], "reflect": [*[reflection("repair_code")] * 3, RETAIN]}
    )
    state, events = run(tmp_path, host, model)
    assert [version.outcome for version in state.members[0].history[:4]] == ["fault", "fault", "refused", "admissible"]
    assert "were refused before" in state.members[0].history[2].reason
    assert [call["op"] for call in bodies(events, EventKind.CALL)].count("judge") == 2  # one of them the exchange within the other
    assert state.outcome is RunOutcome.WON


# -- looking closer ---------------------------------------------------------------------------


def test_a_model_without_tool_calls_looks_closer_in_plain_text_and_its_looks_are_counted(tmp_path: Path, host: Host) -> None:
    asked = iter(
        [
            "TOOL: python\n```python\nprint('cells', (frames[-1] == 7).sum())\n```",
            "TOOL: simulate 6@31,27 6@31,35",
            "TOOL: read 1",
            "TOOL: diff 1 2",
            "TOOL: counterexamples",
            "TOOL: simulate 6@31,27",
            "TOOL: read 1",
            reflection("revise_rulebook"),
        ]
    )
    model = ScriptedModel(
        AGREE
        | {
            "revise": [book(WRONG), book(TRUE)],
            "compile": [program(WRONG), program(TRUE)],
            "reflect": lambda _: next(asked, RETAIN),
        }
    )
    state, events = run(tmp_path, host, model)
    assert state.outcome is RunOutcome.WON
    turns = next(request.turns for request in model.requests if request.op == "reflect" and len(request.turns) == 7)
    assert turns[0].reply.startswith("cells ")
    assert "1. action 6@31,27: running" in turns[1].reply
    assert "R2. A click on a lamp switches it." in turns[2].reply
    assert turns[3].reply.startswith("There is no version 2")
    assert "48 of 4096 cells" in turns[4].reply
    assert turns[5].reply.endswith("The 6 looks you had are spent; answer now.)")
    assert turns[6].reply == "The 6 looks you had are spent; answer now."
    assert len([call for call in bodies(events, EventKind.CALL) if call["op"] == "reflect"]) >= 8


def test_a_model_that_takes_tool_calls_looks_closer_by_them(tmp_path: Path, host: Host) -> None:
    looks = [
        ToolCallPart("python", {"code": "print('cells', (frames[-1] == 7).sum())"}),
        ToolCallPart("simulate", {"actions": "6@31,27"}),
        ToolCallPart("read_version", {"number": 1}),
        ToolCallPart("counterexamples", {}),
    ]
    script = {"revise": [book(WRONG), book(TRUE)], "compile": [program(WRONG), program(TRUE)]}
    model = ScriptedModel(AGREE | script | {"reflect": [reflection("revise_rulebook"), RETAIN]}, looks)
    state, events = run(tmp_path, host, model)
    assert state.outcome is RunOutcome.WON
    last = next(messages for messages in model.messages if len(messages) > 8)
    told = [part.content for message in last for part in message.parts if isinstance(part, ToolReturnPart)]
    assert told[0].startswith("cells ") and "1. action 6@31,27: running" in told[1]
    assert "R2. A click on a lamp switches it." in told[2] and "48 of 4096 cells" in told[3]
    reflected = next(call for call in bodies(events, EventKind.CALL) if call["op"] == "reflect")
    assert reflected["receipt"]["tool_calls"] == 4 and reflected["receipt"]["requests"] == 5


# -- crash and resume -------------------------------------------------------------------------


def test_a_run_killed_between_two_exchanges_goes_on_without_asking_again(tmp_path: Path, host: Host) -> None:
    model = ScriptedModel(AGREE | {"revise": [book(TRUE)]})
    model.dies_at = "compile"
    with (
        pytest.raises(KeyboardInterrupt),
        start_run(RunConfig(WORLD), tmp_path, host=host, mind=LLMMind("llm:scripted", model)) as (folder, session),
    ):
        play(session)
    assert model.ops == ["revise", "compile"]
    again = ScriptedModel(AGREE | {"compile": [program(TRUE)]})  # it could not even answer `revise`
    with resume_run(RunFolder.open(folder.path), host=host, mind=LLMMind("llm:scripted", again)) as session:
        assert play(session) is RunOutcome.WON
        assert session.state.members[0].hypothesis == TRUE
    assert again.ops[0] == "compile" and "revise" not in again.ops
    assert again.requests[0] == model.requests[1]


def test_a_provider_that_dies_pauses_the_run_and_its_failed_call_is_in_the_ledger(tmp_path: Path, host: Host) -> None:
    def dies(request: Request) -> str:
        raise ModelError("The model is overloaded; resume the run later.", {"input_tokens": 11, "failures": 1})

    model = ScriptedModel(AGREE | {"revise": [book(TRUE)], "compile": dies})
    with start_run(RunConfig(WORLD), tmp_path, host=host, mind=LLMMind("llm:scripted", model)) as (_, session):
        with pytest.raises(ModelError, match="overloaded"):
            play(session)
        failed = [
            event.body for event in session.event_log.ledger if event.kind is EventKind.CALL and event.body["op"] == "compile"
        ]
    assert failed[0]["answer"] is None and failed[0]["receipt"]["failures"] == 1


# -- the arms ---------------------------------------------------------------------------------


def test_the_direct_arm_sees_two_observations_and_names_one_action(tmp_path: Path, host: Host) -> None:
    clicks = iter([(31, 27), (31, 35), (31, 43)] * 20)

    def acts(request: Request) -> str:
        x, y = next(clicks)
        return f"ACTION: 6 x={x} y={y}\nREASON: to see"

    model = ScriptedModel({"direct": acts})
    state, _ = run(tmp_path, host, model, mind=DirectMind("direct:scripted", model), protocol="vanilla", budget=6)
    assert state.n_actions == 6
    titles = [[part.title for part in request.parts] for request in model.requests]
    assert titles[0] == ["world", "now", "budget", "task"]
    assert all(one == ["world", "before", "change", "now", "budget", "task"] for one in titles[1:])
    assert len({len(request.text) > 8_000 for request in model.requests[1:]}) == 1  # nothing grows


def test_induce_may_write_the_first_hypothesis_and_is_marked(tmp_path: Path, host: Host) -> None:
    model = ScriptedModel(
        AGREE | {"revise": [book(TRUE)], "compile": [program(TRUE)], "reflect": [reflection("revise_rulebook"), RETAIN]}
    )
    mind = FallbackMind(LLMMind("llm:scripted", model), seed=make_mind("induce"))
    state, events = run(tmp_path, host, model, mind=mind)
    assert state.outcome is RunOutcome.WON
    first = bodies(events, EventKind.PROPOSE)[0]
    assert first["diagnosis"].startswith("Seeded by induce")
    marked = [call["op"] for call in bodies(events, EventKind.CALL) if call["receipt"].get("seeded_by") == "induce"]
    assert marked == ["propose", "judge"]
    assert model.ops[0] == "reflect" and "import" in model.requests[0].text  # it goes on from the seed's program


def test_induce_may_explore_where_the_model_says_nothing_of_use_and_is_marked(tmp_path: Path, host: Host) -> None:
    model = ScriptedModel({op: ["Hm."] for op in ("revise", "reflect", "explore")})
    mind = FallbackMind(LLMMind("llm:scripted", model), fallback=make_mind("induce"))
    state, events = run(tmp_path, host, model, mind=mind, budget=20)
    assert state.n_actions == 10 and state.outcome is RunOutcome.STUCK  # as many as may go without a prediction
    marked = [call for call in bodies(events, EventKind.CALL) if call["op"] == "explore"]
    inner = [call for call in marked if "fallback" in call["receipt"]]
    assert len(inner) == 10 and all(call["receipt"]["fallback"] == "induce" and call["answer"]["probe"] for call in inner)
    assert all(version.outcome is VerdictKind.REFUSED for version in state.members[0].history)


def test_explorations_that_are_no_use_are_refused_with_the_reason(tmp_path: Path, host: Host) -> None:
    bad = ["PROBE: 9\nQUESTION: what?", "PROBE: 6\nQUESTION: what?", "PROBE: 6 x=31 y=27\nQUESTION: a lamp?"]
    model = ScriptedModel(AGREE | {"revise": ["?"], "reflect": ["?"], "explore": bad})
    state, _ = run(tmp_path, host, model, budget=1)
    assert state.n_actions == 1 and state.record.current.actions == [Action(6, 31, 27)]
    explored = [request for request in model.requests if request.op == "explore"]
    assert "There is no action 9" in explored[1].turns[0].reply
    assert "Your last answer to this could not be used" in explored[2].text and "is a click" in explored[2].text


def test_a_structured_answer_will_do_as_well(tmp_path: Path, host: Host) -> None:
    def files(name: str, source: str) -> str:
        return json.dumps({"files": [{"name": name, "source": source}], "edits": []})

    rules = [{"rule": rule, "implemented": True, "where": "there"} for rule in ("R1", "R2", "R3")]
    model = ScriptedModel(
        {
            "revise": [files(RULEBOOK, TRUE.rulebook)],
            "compile": [files(ENGINE, TRUE.files[ENGINE])],
            "judge": [json.dumps({"rules": rules, "faithful": True, "reason": ""})],
            "reflect": [json.dumps({"decision": "retain", "diagnosis": ""})],
            "simplify": ['{"retain": true, "files": [], "edits": []}'],
        }
    )
    state, _ = run(tmp_path, host, model)
    assert state.outcome is RunOutcome.WON and BESIDE in state.members[0].hypothesis.rulebook  # type: ignore[union-attr]
