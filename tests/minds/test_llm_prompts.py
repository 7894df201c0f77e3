"""What models are told: no rulebook means nothing else is different, parts come stable first, and nothing grows."""

from __future__ import annotations

import difflib
import json
import re
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest
from lamps import TRUE, UNFAITHFUL, WORLD, WRONG
from scripted_model import FAITHFUL, RETAIN, ScriptedModel, book, program, reflection

from lawbook.cli.main import main
from lawbook.core.hypothesis import Decision, Hypothesis, Trigger
from lawbook.core.record import Status
from lawbook.core.results import Counterexample, MismatchRegion, ProgramError, Verdict, VerdictKind
from lawbook.errors import MindError, UsageError
from lawbook.minds.base import Case, Version
from lawbook.minds.llm import prompt_context, templates
from lawbook.minds.llm.images import encode_png, render_images
from lawbook.minds.llm.language_mind import LLMMind
from lawbook.minds.llm.model import Request
from lawbook.minds.registry import make_mind
from lawbook.runs.folder import RunConfig
from lawbook.runs.lifecycle import start_run
from lawbook.runs.loops.memento3 import play
from lawbook.sandbox.host import Host

PROMPTS = Path(templates.__file__).parent / "prompts"


@pytest.fixture(scope="module")
def case(tmp_path_factory: pytest.TempPathFactory, host: Host) -> Case:
    """Of a real run, at its first mismatch."""
    config, folder = RunConfig(WORLD), tmp_path_factory.mktemp("runs")
    model = ScriptedModel({"revise": [book(WRONG)], "compile": [program(WRONG)], "judge": [FAITHFUL]})
    with start_run(config, folder, host=host, mind=LLMMind("llm:scripted", model)) as (_, session):
        with pytest.raises(MindError, match="reflect"):  # for that it has no answer
            play(session)
        return session.build_case(0)


def asked(case: Case, script: dict[str, list[str]], op: str) -> list[Request]:
    """What a mind sends its model when it is asked to propose, or to explore."""
    model = ScriptedModel(script)
    mind = LLMMind("llm:scripted", model)
    bare = replace(case, tools=None)
    mind.explore(bare) if op == "explore" else mind.propose(bare)
    return model.requests


# -- the arm without a rulebook ---------------------------------------------------------------


@pytest.mark.parametrize("name", sorted({path.stem for path in PROMPTS.glob("*.md")} - {"revise", "judge"}))
def test_without_a_rulebook_a_prompt_only_lacks_what_speaks_of_one(name: str) -> None:
    full, bare = templates.load_prompt(name), templates.load_prompt(name, rulebook=False)
    assert "<!--" not in full + bare
    assert not re.search(r"(?i)rulebook|\bR\d|world_model\.md", bare)
    parts = difflib.SequenceMatcher(None, full, bare, autojunk=False).get_opcodes()
    assert all(kind in ("equal", "delete") for kind, *_ in parts)
    source = (PROMPTS / f"{name}.md").read_text()
    marked = "".join(re.findall(r"<!-- rulebook -->(.*?)<!-- /rulebook -->", source, re.DOTALL))
    assert len(full) - len(bare) <= len(marked) and len(full) - len(bare) >= len(marked.replace("\n", ""))


@pytest.mark.parametrize("why", [Trigger.MISMATCH, Trigger.LEVEL, Trigger.EXPLORE])
def test_without_a_rulebook_everything_else_is_sent_byte_for_byte(case: Case, why: Trigger) -> None:
    """For every call that both arms make. After a wrong prediction the arm without a rulebook has nothing to decide: it makes one
    call less, and says in the next what the other has said in that one."""
    case, op = replace(case, trigger=why, admissible=why is Trigger.LEVEL), "explore" if why is Trigger.EXPLORE else "propose"
    bare = Hypothesis("", case.hypothesis.files if case.hypothesis else {})
    history = [replace(version, hypothesis=Hypothesis("", version.hypothesis.files)) for version in case.history]
    without = replace(case, needs_rulebook=False, hypothesis=bare, history=history)
    script = {"reflect": [reflection("repair_code")], "compile": [program(TRUE)], "explore": ["PROBE: 6 x=1 y=1\nQUESTION: x"]}
    one, two = asked(case, script, op), asked(without, script, op)
    undecided = why is Trigger.MISMATCH
    assert [request.op for request in one if request.op != "reflect" or not undecided] == [request.op for request in two]
    for with_book, without_book in zip(one[undecided:], two, strict=True):
        assert with_book.schema == without_book.schema or with_book.op == "reflect" or undecided
        assert without_book.system == templates.build_system_prompt(without_book.op, rulebook=False)
        theirs = {part.title: part for part in without_book.parts}
        moved = {"diagnosis"} if undecided else set()
        for part in with_book.parts:
            if part.title in ("rulebook", "task", "choices", "tools", "versions", *moved):
                continue
            assert theirs[part.title] == part
        assert (
            set(theirs) - ({"diagnose"} if undecided else set()) == {part.title for part in with_book.parts} - {"rulebook"} - moved
        )
        assert all(
            theirs[name].text == templates.load_prompt(name, rulebook=False) for name in ("diagnose", "tools") if name in theirs
        )
        assert "R2" not in without_book.text.replace(bare.files["world_model_engine.py"], "")


@pytest.mark.parametrize("name", sorted(path.stem for path in PROMPTS.glob("*.md")))
def test_only_an_arm_with_open_cells_is_told_of_them(name: str) -> None:
    """And nothing else is told otherwise: what every other arm reads is what it read before there were any."""
    told, untold = templates.load_prompt(name, allows_open=True), templates.load_prompt(name)
    assert "<!--" not in told + untold and not re.search(r"\bU(?: rule|k|\d)|int16|earlier\"|update\(", untold)
    parts = difflib.SequenceMatcher(None, told, untold, autojunk=False).get_opcodes()
    assert all(kind in ("equal", "delete") for kind, *_ in parts)


def test_a_mind_is_told_of_open_cells_where_the_protocol_has_them(case: Case) -> None:
    script = {"reflect": [reflection("repair_code")], "compile": [program(TRUE)]}
    for allows_open in (False, True):
        requests = asked(replace(case, trigger=Trigger.MISMATCH, allows_open=allows_open), script, "propose")
        assert ["update(state, observation)" in request.system for request in requests] == [allows_open] * len(requests)


# -- what is in a request ---------------------------------------------------------------------


def test_stable_parts_come_first_and_calls_of_one_proposal_begin_alike(case: Case) -> None:
    script = {"reflect": [reflection("revise_rulebook")], "revise": [book(TRUE)], "compile": [program(TRUE)]}
    requests = asked(case, script, "propose")
    assert [request.op for request in requests] == ["reflect", "revise", "compile"]
    for request in requests:
        stable = [part.stable for part in request.parts]
        assert stable == sorted(stable, reverse=True) and any(stable)
    for before, after in pairwise(requests):
        same = next(k for k, (a, b) in enumerate(zip(before.text, after.text, strict=False)) if a != b)
        assert before.system == after.system and same > 0.6 * len(before.text)


def test_a_call_is_a_function_of_the_case(case: Case) -> None:
    script = {"reflect": [reflection("revise_rulebook")], "revise": [book(TRUE)], "compile": [program(TRUE)]}
    assert asked(case, script, "propose") == asked(case, script, "propose")


def test_the_last_draft_is_what_is_mended_until_something_is_accepted(case: Case) -> None:
    refused = Version(Decision.REPAIR_CODE, UNFAITHFUL, VerdictKind.UNFAITHFUL, "R2 is missing", case.record.n_actions, "d")
    unusable = Version(Decision.REVISE_RULEBOOK, case.hypothesis or WRONG, VerdictKind.REFUSED, "no answer", case.record.n_actions)
    again = replace(
        case, trigger=Trigger.REFUSED, history=[*case.history, refused, unusable], verdict=Verdict(VerdictKind.REFUSED, "no answer")
    )
    assert prompt_context.pick_draft(again) == UNFAITHFUL
    told = asked(again, {"reflect": [reflection("repair_code")], "compile": [program(TRUE)]}, "propose")[0].text
    assert "no answer" in told and "What was said of the text shown above when it was tried:\nR2 is missing" in told
    assert prompt_context.pick_draft(replace(again, trigger=Trigger.LEVEL, admissible=True)) == case.hypothesis


def test_around_a_counterexample_of_long_ago_the_frames_are_shown(case: Case) -> None:
    region = MismatchRegion(24, 28, 31, 35, 3, (), (7,), (8,))
    running = Status.RUNNING
    example = Counterexample(0, 0, 0, None, running, running, 3, (region,), "The first rendering is wrong.")
    told = prompt_context.build_situation_parts(
        replace(case, verdict=Verdict(VerdictKind.COUNTEREXAMPLE, example.text, example)), case.hypothesis
    )[0].text
    assert "The first rendering is wrong." in told and "What was really seen there:\n" in told
    shown = told.partition("What was really seen there:\n")[2]
    assert shown.split("\n")[1].split()[0] == "21-23" and len(shown) < 400  # three cells around it, no more
    later = replace(example, step=1)
    assert (
        "What was really seen"
        not in prompt_context.build_situation_parts(  # the last step of all, told already
            replace(case, verdict=Verdict(VerdictKind.COUNTEREXAMPLE, later.text, later)), case.hypothesis
        )[0].text
    )


def test_a_draft_that_is_mended_is_proposed_with_the_decision_that_fits_what_stands(case: Case) -> None:
    refused = Version(Decision.REVISE_RULEBOOK, UNFAITHFUL, VerdictKind.UNFAITHFUL, "R2 is missing", case.record.n_actions)
    again = replace(case, trigger=Trigger.REFUSED, history=[*case.history, refused], tools=None)
    model = ScriptedModel({"reflect": [reflection("repair_code")], "compile": [program(TRUE)]})
    found = LLMMind("llm:scripted", model).propose(again)
    assert found.decision is Decision.REVISE_RULEBOOK and found.rulebook == TRUE.rulebook  # WRONG stands, and has another


def test_retain_is_not_offered_where_it_would_be_refused(case: Case) -> None:
    request = asked(case, {"reflect": [RETAIN, reflection("repair_code")], "compile": [program(TRUE)]}, "propose")[1]
    assert "retain is no answer to a wrong prediction" in request.turns[0].reply
    assert request.schema["properties"]["decision"]["enum"] == ["revise_rulebook", "repair_code"]


def test_old_steps_are_told_in_a_line_and_what_is_shown_of_the_past_begins_alike(tmp_path: Path, host: Host) -> None:
    config = RunConfig("demo:keys?seed=0", protocol="vanilla", budget=130, mind="random")
    shown: list[tuple[int, str]] = []
    with start_run(config, tmp_path, host=host) as (_, session):
        while session.outcome is None:
            if session.record.needs_reset:
                session.reset("over")
                continue
            session.send_exploration(session.call_mind(0, "explore"))  # type: ignore[arg-type]
            parts = {part.title: part.text for part in prompt_context.build_record_parts(session.build_case(0))}
            shown.append((len(session.record.current), parts.get("steps", "")))
    long = [text for steps, text in shown if steps > 60]
    assert (
        long
        and max(map(len, long))
        < prompt_context.MAX_STEPS_CHARS + 3 * prompt_context.MAX_STEP_CHARS + 2 * prompt_context.MAX_ACTIONS_CHARS + 200
    )
    begins = [text.split("\n")[3].partition(".")[0] for text in long if text.split("\n")[2].startswith("1 to ")]
    assert len(begins) > 5 and len(set(begins)) < len(begins) / 3


def test_pictures_are_of_the_last_two_frames_and_colours_differ(case: Case) -> None:
    import numpy as np

    shown = render_images(case)
    assert [picture.caption for picture in shown] == [f"The frame after {k} steps of the present trajectory:" for k in (0, 1)]
    every = encode_png(np.arange(256, dtype=np.uint8).reshape(16, 16))
    start = every.index(b"PLTE") + 4
    colours = {every[start + 3 * k : start + 3 * k + 3] for k in range(36)}
    assert len(colours) == 36


# -- asked no more than is worth it -----------------------------------------------------------


def test_where_nothing_can_be_decided_the_diagnosis_is_said_with_the_program(case: Case) -> None:
    without = replace(case, needs_rulebook=False, tools=None)
    model = ScriptedModel({"compile": ["DIAGNOSIS: Neighbours\nwere switched.\n\nDone.\n" + program(TRUE)]})
    found = LLMMind("llm:scripted", model).propose(without)
    assert model.ops == ["compile"] and found.decision is Decision.REPAIR_CODE
    assert found.diagnosis == "Neighbours\nwere switched.\n\nDone." and found.files == TRUE.files
    assert "diagnosis" in model.requests[0].schema["properties"]
    json_said = json.dumps({"diagnosis": "So.", "files": [{"name": n, "source": s} for n, s in TRUE.files.items()], "edits": []})
    assert LLMMind("llm:scripted", ScriptedModel({"compile": [json_said]})).propose(without).diagnosis == "So."


def test_a_text_for_which_nothing_shorter_was_found_is_not_asked_about_again(case: Case) -> None:
    assert case.hypothesis is not None
    asked_for = replace(case, trigger=Trigger.SIMPLIFY, admissible=True, verdict=Verdict(VerdictKind.ADMISSIBLE), tools=None)
    model = ScriptedModel({"simplify": ["RETAIN"]})
    mind = LLMMind("llm:scripted", model)
    kept = mind.propose(asked_for)
    assert kept.decision is Decision.RETAIN and len(model.requests) == 1
    assert f"It has {case.hypothesis.description_bytes:,} bytes now" in model.requests[0].text
    version = Version(kept.decision, case.hypothesis, VerdictKind.ADMISSIBLE, "", case.record.n_actions, kept.diagnosis)
    again = replace(asked_for, history=[*case.history, version])
    assert mind.propose(again) == kept and len(model.requests) == 1
    mind.propose(replace(again, hypothesis=TRUE))
    assert len(model.requests) == 2 and prompt_context.RETAIN_DIAGNOSIS not in model.requests[1].text
    assert f"The description has grown from {case.hypothesis.description_bytes:,} bytes" in model.requests[1].text


def test_of_earlier_diagnoses_the_last_two_are_told_whole(case: Case) -> None:
    said = [f"Law {k} " + "so it is " * 150 + f"end {k}" for k in range(4)]
    versions = [
        Version(Decision.REPAIR_CODE, TRUE, VerdictKind.COUNTEREXAMPLE, "Cells. " * 99, k, text) for k, text in enumerate(said)
    ]
    text = prompt_context.build_situation_parts(replace(case, history=versions), TRUE)[1].text
    assert [f"Law {k}" in text and f"end {k}" in text for k in range(4)] == [False, False, True, True]
    assert all(f"Law {k}" in text for k in range(4)) and "ask for less" not in text and len(text) < 5_000
    for name in ("reflect", "diagnose"):
        told = " ".join(templates.load_prompt(name).split())
        assert (
            f"{prompt_context.MAX_DIAGNOSIS_CHARS:,} characters" in told
            and f"the first {prompt_context.MAX_SHORT_CHARS}" in told
            and prompt_context.MAX_FULL_DIAGNOSES == 2
        )


def test_what_refuted_the_program_is_said(case: Case) -> None:
    def told(verdict: Verdict) -> str:
        return prompt_context.build_situation_parts(replace(case, verdict=verdict), case.hypothesis)[0].text.split("\n")[2]

    running, completed = Status.RUNNING, Status.COMPLETED
    example = Counterexample(0, 1, 0, None, running, running, 0, (), "It is wrong.")
    assert told(Verdict(VerdictKind.COUNTEREXAMPLE, "It is wrong.", example)) == "A prediction was wrong."
    assert "goal is refuted: the level went on" in told(
        Verdict(VerdictKind.COUNTEREXAMPLE, "x", replace(example, predicted=completed))
    )
    assert "mend all that is new" in told(Verdict(VerdictKind.COUNTEREXAMPLE, "x", replace(example, step=0)))
    fault = ProgramError("exception", "initial_state raised ValueError", 1, 0)
    assert "mend all that is new" in told(Verdict(VerdictKind.FAULT, fault.reason, fault=fault))
    refused = Version(Decision.REPAIR_CODE, TRUE, VerdictKind.FAULT, "It raised.", 1)
    late = replace(case, verdict=Verdict(VerdictKind.FAULT, "It raised."), history=[refused])
    assert "New evidence came" in prompt_context.build_situation_parts(late, case.hypothesis)[0].text


def test_a_first_request_speaks_of_nothing_that_is_not_there_yet(tmp_path: Path, host: Host) -> None:
    model = ScriptedModel({"revise": [book(TRUE)], "compile": [program(TRUE)]})  # and no judge
    mind = LLMMind("llm:scripted", model)
    with pytest.raises(MindError, match="judge"), start_run(RunConfig(WORLD), tmp_path, host=host, mind=mind) as (_, session):
        play(session)
    assert model.ops == ["revise", "compile", "judge"]
    for request in model.requests[:2]:
        assert request.text.count("There is no program yet; yours is the first.") == 1
        assert not re.search(
            "There is none yet|NO CHANGE|TOOL: (simulate|read|diff|counter)|Earlier versions|without a pred", request.text
        )
    assert "TOOL: python" in model.requests[1].text
    judge = model.requests[2]
    assert judge.system == templates.load_prompt("contract") and "scientist" not in judge.system


def test_a_judge_is_shown_what_changed_since_the_last_faithful_pair(case: Case) -> None:
    model = ScriptedModel({"judge": [FAITHFUL]})
    mind = LLMMind("llm:scripted", model)
    accepted = replace(case, tools=None, history=[Version(Decision.REVISE_RULEBOOK, WRONG, VerdictKind.ADMISSIBLE, "", 0)])
    mind.judge(accepted, TRUE)
    mind.judge(replace(accepted, history=[]), TRUE)
    assert "\n+R2. " in model.requests[0].text and "What changed" not in model.requests[1].text


# -- versions and names -----------------------------------------------------------------------


def test_every_prompt_has_the_version_it_is_listed_with() -> None:
    changed = [op for op in templates.OPERATOR_PROMPTS if "+" in templates.compute_version(op)]
    assert not changed, (
        f"raise the number of {changed} in prompts/versions.txt: {[templates.compute_version(op) for op in changed]}"
    )


def test_prompts_are_printed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["prompts"]) == 0
    listed = capsys.readouterr().out
    assert all(f"{op:9}{templates.compute_version(op)}" in listed for op in templates.OPERATOR_PROMPTS)
    assert main(["prompts", "judge", "--no-rulebook"]) == 0
    assert templates.load_prompt("judge", rulebook=False).rstrip() in capsys.readouterr().out
    assert main(["prompts", "dream"]) == 2
    assert "no operator 'dream'" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("llm", "needs a model"),
        ("llm:antropic:x", "Did you mean 'anthropic'"),
        ("llm:anthropic", "needs the name of a model"),
        ("direct", "needs a model"),
        ("direct:files:", "needs a folder"),
        ("llm:openai-compatible:nowhere", "no address of a model"),
        ("llm:anthropic:claude-x", "key"),
        ("llm:openai:gpt-x", "key"),
        ("llm:openrouter:a/b", "(?i)key"),
        ("llm:google:gemini-x", "(?i)key"),
    ],
)
def test_a_mind_that_cannot_be_had_is_one_sentence(name: str, words: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for key in ("ANTHROPIC", "OPENAI", "GOOGLE", "GEMINI", "OPENROUTER"):
        monkeypatch.delenv(f"{key}_API_KEY", raising=False)
    with pytest.raises(UsageError, match=words) as error:
        make_mind(name)
    assert "\n" not in str(error.value)
