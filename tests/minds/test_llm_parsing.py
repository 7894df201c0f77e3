"""What models say, taken apart: every text is read or refused in one sentence, and what is well written comes back exactly."""

from __future__ import annotations

import json

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from lawbook.core.hypothesis import ENGINE, RULEBOOK, Decision, Hypothesis
from lawbook.core.record import RESET, Action
from lawbook.core.results import Judgement, Probe, Subgoal
from lawbook.minds.base import Interface
from lawbook.minds.llm import outputs
from lawbook.minds.llm.file_edits import apply_answer, apply_edit
from lawbook.minds.llm.parsing import Edit, UnreadableAnswerError, clean_answer, parse_answer

INTERFACE = Interface((64, 64), (1, 2, 6), (6,), None)
BOOK = "R1. A thing falls.\nR2. It stops at the floor.\n"
SOURCE = "import math\n\n\ndef step(state, action):\n    if action.id == 1:\n        return state + 1\n    return state\n"
BEFORE = Hypothesis(BOOK, {ENGINE: SOURCE, "walls.py": "WALL = 3\n"})
READERS = {
    "reflect": lambda said, last: outputs.read_reflection(said, tuple(Decision)),
    "revise": lambda said, last: outputs.read_revision(said, BOOK, final_attempt=last),
    "compile": lambda said, last: outputs.read_compilation(said, BEFORE.files, may_stay=True, final_attempt=last),
    "first": lambda said, last: outputs.read_compilation(said, {}, may_stay=False, final_attempt=last),
    "simplify": lambda said, last: outputs.read_simplification(said, BEFORE, has_rulebook=True, final_attempt=last),
    "judge": lambda said, last: outputs.read_judgement(said, ("R1", "R2", "R10"), final_attempt=last),
    "explore": lambda said, last: outputs.read_exploration(said, INTERFACE, may_name_subgoal=True),
    "direct": lambda said, last: outputs.read_direct(said, INTERFACE),
}
SCRAPS = [
    *("```", "```python", "```markdown", "~~~~", "<<<<<<< SEARCH", "=======", ">>>>>>> REPLACE", ENGINE, RULEBOOK, "walls.py"),
    *(
        "DECISION: repair_code",
        "DIAGNOSIS: so",
        "VERDICT: faithful",
        "REASON: none",
        "R1: there",
        "R10: MISSING",
        "PROBE: 6 x=1 y=2",
    ),
    *(
        "QUESTION: what?",
        "def subgoal(state):\n    return True",
        "ACTION: 1",
        "RETAIN",
        "NO CHANGE",
        "DELETE: walls.py",
        "\r\n",
        "\x00",
    ),
    *(
        '{"files": [{"name": "a.py", "source": "x"}]}',
        '{"decision": "retain"}',
        '{"faithful": 1}',
        "{",
        "[",
        "<think>",
        "</think>",
        "",
    ),
    *(line for text in (BOOK, SOURCE) for line in text.split("\n")),
]
mess = st.lists(st.sampled_from(SCRAPS) | st.text(max_size=20), max_size=25).map("\n".join)
text = st.text(st.characters(codec="utf-8", exclude_characters="\r\x00\ufeff`~<>"), min_size=1, max_size=200).filter(str.strip)


@given(st.sampled_from(sorted(READERS)), mess, st.booleans())
@settings(max_examples=600)
def test_every_text_is_read_or_refused_in_one_sentence(op: str, said: str, last: bool) -> None:
    try:
        READERS[op](said, last)
    except UnreadableAnswerError as error:
        sentence = str(error)
        assert sentence.strip() and "\n" not in sentence and len(sentence) < 500 and sentence.endswith(".")


@given(text, st.sampled_from(["\n", "\r\n", "\r"]), st.sampled_from(["", "Here you are:", "Sure!\n\n## The file"]), st.booleans())
def test_a_whole_file_comes_back_exactly(source: str, end: str, chatter: str, tilde: bool) -> None:
    source = "\n".join(clean_answer(source).splitlines()).strip("\n") or "x"
    mark = "~~~" if tilde else "```"
    said = f"{chatter}\n\n{ENGINE}\n{mark}python\n{source}\n{mark}\nThat is all.".replace("\n", end)
    assert outputs.read_compilation(said, {}, may_stay=False) == {ENGINE: source.strip("\n") + "\n"}


@given(st.lists(st.text("abc ", max_size=6), min_size=1, max_size=12), st.data())
def test_an_edit_replaces_the_one_place_it_names_or_is_refused(lines: list[str], data: st.DataObject) -> None:
    source = "\n".join(lines) + "\n"
    first = data.draw(st.integers(0, len(lines) - 1))
    last = data.draw(st.integers(first, len(lines) - 1))
    search, new = lines[first : last + 1], data.draw(st.lists(st.text("xyz", min_size=1, max_size=3), max_size=3))
    said = f"{ENGINE}\n<<<<<<< SEARCH\n" + "\n".join([*search, "=======", *new, ">>>>>>> REPLACE"])
    assume("".join(search).strip())
    places = [k for k in range(len(lines)) if lines[k : k + len(search)] == search]
    try:
        after = apply_answer(parse_answer(said), {ENGINE: source})[ENGINE]
    except UnreadableAnswerError as error:
        assert len(places) != 1, str(error)
        return
    assert len(places) == 1
    assert after.split("\n") == [*lines[:first], *new, *lines[last + 1 :], ""]


@pytest.mark.parametrize(
    ("said", "decision"),
    [
        ("DECISION: repair_code\nDIAGNOSIS: x", Decision.REPAIR_CODE),
        ("**Decision:** `revise_rulebook`\n**Diagnosis:** x", Decision.REVISE_RULEBOOK),
        ("## Decision\n\nRepair code, because the walls are right.\n\n## Diagnosis\nx", Decision.REPAIR_CODE),
        ("Let me think. The code is off.\n\n- decision = retain\n- diagnosis = x", Decision.RETAIN),
        ("```\nDECISION: retain\nDIAGNOSIS: x\n```", Decision.RETAIN),
        ('Here is my answer:\n```json\n{"decision": "repair_code", "diagnosis": "x"}\n```', Decision.REPAIR_CODE),
        ("<think>DECISION: retain? no.</think>\nDECISION: revise rulebook\nDIAGNOSIS: x", Decision.REVISE_RULEBOOK),
        ("DECISION: retain\nWait, no.\nDECISION: repair_code\nDIAGNOSIS: x", Decision.REPAIR_CODE),
    ],
)
def test_a_decision_is_found_in_whatever_dress(said: str, decision: Decision) -> None:
    found = outputs.read_reflection(said, tuple(Decision))
    assert found.decision is decision and found.diagnosis == "x"


@pytest.mark.parametrize(
    "said",
    [
        f"{ENGINE}\n```python\n{SOURCE}```",
        f"```python\n{SOURCE}```",
        f"```python {ENGINE}\n{SOURCE}```",
        f"```python\n# {ENGINE}\n{SOURCE}```",
        f"**`{ENGINE}`**:\n\n```py\n{SOURCE}```\nI hope this helps!",
        f"### src/{ENGINE}\n~~~python\n{SOURCE}~~~",
        SOURCE,
        f"Here is the program:\n\n{SOURCE}",
        json.dumps({"files": [{"name": ENGINE, "source": SOURCE}], "edits": []}),
        f"```json\n{json.dumps({'files': [{'name': ENGINE, 'source': SOURCE}]})}\n```",
    ],
)
def test_a_program_is_found_in_whatever_dress(said: str) -> None:
    found = outputs.read_compilation(said, {}, may_stay=False)
    assert found[ENGINE].endswith(SOURCE) and set(found) == {ENGINE}


def test_a_rulebook_may_hold_blocks_of_its_own() -> None:
    inner = "R1. As drawn:\n\n```text\n##\n```\n\nR2. More.\n"
    assert outputs.read_revision(f"{RULEBOOK}\n```markdown\n{inner}```\n", "") == inner


def test_edits_are_forgiving_about_blanks_and_indentation_only() -> None:
    assert apply_edit(
        Edit("", "if action.id == 1:\n    return state + 1", "if action.id == 2:\n    return state"), ENGINE, SOURCE
    ) == (SOURCE.replace("== 1", "== 2").replace("state + 1", "state"))
    assert apply_edit(Edit("", "    return state   ", "    return 0"), ENGINE, SOURCE) == SOURCE.replace(
        "    return state\n", "    return 0\n"
    )
    for search, words in (
        ("    return stat", "is nowhere in world_model_engine.py"),
        ("", "empty SEARCH part"),
    ):
        with pytest.raises(UnreadableAnswerError, match=words):
            apply_edit(Edit("", search, "x"), ENGINE, SOURCE)
    with pytest.raises(UnreadableAnswerError, match="2 times"):
        apply_edit(Edit("", "a", "b"), ENGINE, "a\na\n")


@pytest.mark.parametrize(
    ("op", "said", "words"),
    [
        ("compile", f"{ENGINE}\n```python\n{SOURCE}", "ends inside world_model_engine.py"),
        ("compile", f"{ENGINE}\n```python\n\n```", "is empty"),
        ("compile", f"{ENGINE}\n<<<<<<< SEARCH\nimport math\n=======\nimport ma", "has no >>>>>>> REPLACE line"),
        ("compile", f"{ENGINE}\n<<<<<<< SEARCH\nimport math\n", "has no ======= line"),
        ("compile", '{"files": [{"name": "world_model_engine.py", "source": "import', "JSON of your answer is malformed"),
        ("compile", f"{RULEBOOK}\n```markdown\n{BOOK}```", "stays as it is"),
        ("compile", "I cannot help with that.", "The program is as it was"),
        ("first", "I cannot help with that.", "There is no program in your answer"),
        ("first", "", "There is no program in your answer"),
        ("first", "helper.py\n```python\nx = 1\n```", f"no {ENGINE}"),
        ("revise", f"{RULEBOOK}\n```markdown\n{BOOK}```", "as it was"),
        ("revise", f"{RULEBOOK}\n```markdown\nThings fall.\n```", "numbers no rules"),
        ("revise", f"{ENGINE}\n```python\nx = 1\n```", f"only {RULEBOOK} is wanted"),
        ("simplify", f"{ENGINE}\n```python\n{SOURCE}{SOURCE}```", "not shorter"),
        ("simplify", "It is fine.", "write RETAIN"),
        ("judge", "R1: there\nR2: there\nR10: there", "no VERDICT"),
        ("judge", "R1: there\nR10: there\nVERDICT: faithful", "Nothing is said of R2"),
        ("judge", "R1: there\nR2: MISSING: the floor\nR10: x\nVERDICT: faithful", "say one or the other"),
        ("judge", "R1: there\nR2: there\nR10: x\nVERDICT: unfaithful", "not why"),
        ("explore", "PROBE: 1", "no question"),
        ("explore", "PROBE: up\nQUESTION: x", "`up` is no action"),
        ("explore", "PROBE: 6 x=64 y=0\nQUESTION: x", "lies outside"),
        ("explore", "QUESTION: x", "nothing to do"),
        ("direct", "I would go left.", "no action in your answer"),
        ("reflect", "Let us retain.", "no DECISION"),
        ("reflect", "DECISION: retain or repair_code", None),
        ("reflect", "DECISION: think more", "is none of"),
    ],
)
def test_what_is_wrong_is_said(op: str, said: str, words: str | None) -> None:
    if words is None:
        assert READERS[op](said, False).decision is Decision.RETAIN
        return
    with pytest.raises(UnreadableAnswerError) as error:
        READERS[op](said, False)
    assert words in str(error.value)


def test_a_block_whose_end_is_missing_is_taken_when_there_is_no_asking_again() -> None:
    assert outputs.read_compilation(f"{ENGINE}\n```python\n{SOURCE}x = 1", {}, may_stay=False, final_attempt=True) == {
        ENGINE: SOURCE + "x = 1\n"
    }


def test_modules_are_added_edited_and_deleted_together() -> None:
    said = "walls.py\n<<<<<<< SEARCH\nWALL = 3\n=======\nWALL = 4\n>>>>>>> REPLACE\n\nfloor.py\n```python\nFLOOR = 0\n```\n"
    after = outputs.read_compilation(said, BEFORE.files, may_stay=False)
    assert after == {ENGINE: SOURCE, "walls.py": "WALL = 4\n", "floor.py": "FLOOR = 0\n"}
    assert set(outputs.read_compilation("DELETE: walls.py", BEFORE.files, may_stay=False)) == {ENGINE}
    with pytest.raises(UnreadableAnswerError, match=r"no roof\.py to delete"):
        outputs.read_compilation("DELETE: roof.py", BEFORE.files, may_stay=False)


def test_a_block_without_a_name_beside_one_with_a_name_is_a_quotation() -> None:
    quoted, use = "The old line was\n```python\nreturn 0\n```", "```python\nstep(0, 1)\n```"
    said = f"{quoted}\n\n{ENGINE}\n```python\n{SOURCE}```\n\n{use}\n"
    assert outputs.read_compilation(said, {}, may_stay=False) == {ENGINE: SOURCE}
    with pytest.raises(UnreadableAnswerError, match="no file name before it"):
        outputs.read_compilation("```python\nx = 1\n```\nand\n```python\ny = 2\n```", {}, may_stay=False)


def test_judgements_say_rule_by_rule_where_or_what() -> None:
    found = outputs.read_judgement(
        "**R1**: a.py:3, falls\nR2: MISSING, no floor\n- R10: a.py:9\nVERDICT: not faithful", ("R1", "R2", "R10")
    )
    assert found == Judgement(False, {"R1": "a.py:3, falls", "R2": "MISSING, no floor", "R10": "a.py:9"}, "R2: MISSING, no floor")


@pytest.mark.parametrize(
    ("said", "wanted"),
    [
        ("PROBE: 1\nQUESTION: x", Probe(Action(1), "x")),
        ("**PROBE:** `6 x=10 y=20`\n**QUESTION:** x", Probe(Action(6, 10, 20), "x")),
        ("Probe: 6 (y=20, x=10)\nQuestion: x", Probe(Action(6, 10, 20), "x")),
        ("PROBE: 6@10,20\nQUESTION: x", Probe(Action(6, 10, 20), "x")),
        ("PROBE: Action 2, to see\nQUESTION: x", Probe(Action(2), "x")),
        ("PROBE: RESET\nQUESTION: x", Probe(RESET, "x")),
        (
            "SUBGOAL:\n```python\ndef subgoal(state):\n    return state > 3\n```\nQUESTION: x",
            Subgoal("def subgoal(state):\n    return state > 3\n", "x"),
        ),
        ('{"subgoal": "", "action": "6 x=1 y=2", "question": "x"}', Probe(Action(6, 1, 2), "x")),
    ],
)
def test_explorations_are_found_in_whatever_dress(said: str, wanted: Subgoal | Probe) -> None:
    assert outputs.read_exploration(said, INTERFACE, may_name_subgoal=True) == wanted


def test_a_subgoal_needs_a_program_to_plan_in() -> None:
    with pytest.raises(UnreadableAnswerError, match="No program stands"):
        outputs.read_exploration(
            "```python\ndef subgoal(state):\n    return True\n```\nQUESTION: x", INTERFACE, may_name_subgoal=False
        )
