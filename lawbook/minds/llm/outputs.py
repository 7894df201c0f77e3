"""The operators' answers: their types, their JSON schemas, and how each is read from what a model said."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from itertools import takewhile
from typing import Any

from lawbook.core.hypothesis import ENGINE, RULEBOOK, Decision, Hypothesis, find_rule_citations
from lawbook.core.record import RESET, Action
from lawbook.core.results import Judgement, Probe, Subgoal
from lawbook.minds.base import Interface
from lawbook.minds.llm.file_edits import apply_answer, apply_json_answer
from lawbook.minds.llm.parsing import (
    ParsedAnswer,
    UnreadableAnswerError,
    clean_answer,
    find_fields,
    find_json_object,
    iterate_field_lines,
    match_choice,
    parse_answer,
)

Schema = Mapping[str, Any]

_NUMBER = re.compile(r"(?<![\d.])-?\d{1,9}(?![\d.]\d)")
_BLOCK_START = re.compile(r"\s*(?:`{3}|~{3}|<{5,})")
_FILE_NAME = re.compile(r"\W*[\w./-]+\.(?:py|md)\W*")
_COORDINATE = re.compile(r"\b([xy])\s*[=:]?\s*(\d{1,9})")
_TEXT_SCHEMA = {"type": "string"}


def _build_object_schema(properties: dict[str, Any], required: tuple[str, ...] = ()) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": list(required or properties),
        "additionalProperties": False,
    }


_FILES_SCHEMA = {"type": "array", "items": _build_object_schema({"name": _TEXT_SCHEMA, "source": _TEXT_SCHEMA})}
_EDITS_SCHEMA = {
    "type": "array",
    "items": _build_object_schema({"file": _TEXT_SCHEMA, "search": _TEXT_SCHEMA, "replace": _TEXT_SCHEMA}),
}


# -- reflect --------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Reflection:
    """d of Eq. 16, and what was wrong, in a few sentences."""

    decision: Decision
    diagnosis: str


def build_reflection_schema(allowed: tuple[Decision, ...]) -> Schema:
    return _build_object_schema(
        {"decision": {"type": "string", "enum": [decision.value for decision in allowed]}, "diagnosis": _TEXT_SCHEMA}
    )


def read_reflection(text: str, allowed: tuple[Decision, ...]) -> Reflection:
    """Raises Unreadable, also for a decision that is not `allowed` now."""
    answer_fields = _find_answer_fields(text, ("DECISION", "DIAGNOSIS"))
    choices = ", ".join(allowed)
    if not answer_fields.get("DECISION"):
        raise UnreadableAnswerError(f"There is no DECISION in your answer; write a line `DECISION: ` with one of {choices}.")
    decision = match_choice(answer_fields["DECISION"], tuple(Decision))
    if decision is None:
        raise UnreadableAnswerError(
            f"The decision {answer_fields['DECISION'][:60]!r} is none of {choices}; write one of them after `DECISION: `."
        )
    if decision not in allowed:
        reason = "retain is no answer to a wrong prediction or a refusal; " if decision == Decision.RETAIN else ""
        raise UnreadableAnswerError(f"{reason}{decision} cannot be chosen here; decide between {choices}.")
    return Reflection(Decision(decision), answer_fields.get("DIAGNOSIS", ""))


# -- revise, compile, simplify --------------------------------------------------------------------------


@dataclass(frozen=True)
class Texts:
    """Rulebook and program after an answer."""

    rulebook: str
    files: Mapping[str, str] = field(default_factory=dict)


REVISION_SCHEMA = _build_object_schema({"files": _FILES_SCHEMA, "edits": _EDITS_SCHEMA})
COMPILATION_SCHEMA = REVISION_SCHEMA
DIAGNOSED_COMPILATION_SCHEMA = _build_object_schema({"diagnosis": _TEXT_SCHEMA, "files": _FILES_SCHEMA, "edits": _EDITS_SCHEMA})
SIMPLIFICATION_SCHEMA = _build_object_schema({"retain": {"type": "boolean"}, "files": _FILES_SCHEMA, "edits": _EDITS_SCHEMA})


def read_revision(text: str, before: str, *, final_attempt: bool = False) -> str:
    """The rulebook (Eq. 17) after an answer: whole, or edited. Raises Unreadable."""
    after = _parse_files(text, {RULEBOOK: before} if before else {}, RULEBOOK, final_attempt=final_attempt)
    extra = [name for name in after if name != RULEBOOK]
    if extra:
        raise UnreadableAnswerError(f"Now only {RULEBOOK} is wanted, not {extra[0]}; the program is asked for next.")
    rulebook = after.get(RULEBOOK, "")
    if not rulebook.strip():
        raise UnreadableAnswerError(
            f"There is no rulebook in your answer; give {RULEBOOK} whole in a fenced block, or edits of it."
        )
    if rulebook == before:
        raise UnreadableAnswerError("The rulebook is as it was; change what the diagnosis says is wrong.")
    if not find_rule_citations(Hypothesis(rulebook)).rules:
        raise UnreadableAnswerError("The rulebook numbers no rules; begin each with R1, R2, ... at the start of a line.")
    return rulebook


def read_compilation(text: str, before: Mapping[str, str], *, may_stay: bool, final_attempt: bool = False) -> dict[str, str]:
    """The program (Eq. 18) after an answer. may_stay: may it stay as it is, said by `NO CHANGE`? Raises Unreadable."""
    after = _parse_files(text, before, ENGINE, final_attempt=final_attempt)
    if RULEBOOK in after:
        raise UnreadableAnswerError(f"Now only the program is wanted; {RULEBOOK} stays as it is, so leave it out of your answer.")
    if after != dict(before):
        if ENGINE not in after:
            raise UnreadableAnswerError(f"The program has no {ENGINE}; give that file too.")
        return after
    if may_stay and before and _has_keyword(text, "NO CHANGE"):
        return after
    if not before:
        raise UnreadableAnswerError(
            f"There is no program in your answer; write {ENGINE} on a line and its source in a fenced block."
        )
    hint = ", or write NO CHANGE where the program already does what the rulebook says" if may_stay else ""
    raise UnreadableAnswerError(f"The program is as it was; give edits or whole files that change it{hint}.")


def read_diagnosis(text: str) -> str:
    """What a program's author says before its files that the evidence means; empty where nothing is said."""
    cleaned = clean_answer(text)
    answer = find_json_object(cleaned, ("files", "edits"))
    if answer is not None:
        return str(answer.get("diagnosis") or "").strip()
    head_lines = list(takewhile(lambda line: not _BLOCK_START.match(line), cleaned.split("\n")))
    while head_lines and (not head_lines[-1].strip() or (len(head_lines[-1]) <= 120 and _FILE_NAME.fullmatch(head_lines[-1]))):
        head_lines.pop()
    return find_fields(head_lines, ("DIAGNOSIS", "DELETE")).get("DIAGNOSIS", "")


def read_simplification(text: str, before: Hypothesis, *, has_rulebook: bool, final_attempt: bool = False) -> Hypothesis | None:
    """Something shorter, or None for `RETAIN` (Eq. 23). has_rulebook: is there one? Raises Unreadable, also when it is not
    shorter."""
    base = dict(before.files) | ({RULEBOOK: before.rulebook} if has_rulebook else {})
    after = _parse_files(text, base, None if has_rulebook else ENGINE, final_attempt=final_attempt)
    if after == base:
        if _has_keyword(text, "RETAIN"):
            return None
        raise UnreadableAnswerError("Nothing is shorter in your answer; give edits or whole files, or write RETAIN.")
    if not has_rulebook and RULEBOOK in after:
        raise UnreadableAnswerError(f"There is no {RULEBOOK} here; answer with the program's files alone.")
    shorter = Hypothesis(after.pop(RULEBOOK, before.rulebook), after)
    if shorter.description_bytes >= before.description_bytes and not final_attempt:
        sizes = f"{shorter.description_bytes:,} bytes against {before.description_bytes:,}"
        raise UnreadableAnswerError(f"That is not shorter: {sizes}, comments not counted; shorten it, or write RETAIN.")
    return shorter


def _parse_files(text: str, before: Mapping[str, str], target_file: str | None, *, final_attempt: bool) -> dict[str, str]:
    answer = find_json_object(clean_answer(text), ("files", "edits"))
    if answer is not None:
        after = apply_json_answer(answer, before, target_file)
    else:
        parsed = parse_answer(clean_answer(text))
        after = apply_answer(parsed, before, target_file, final_attempt=final_attempt)
        if not parsed.blocks and not parsed.edits:
            after |= _parse_unfenced_file(parsed, target_file)
        for name in find_fields(parsed.lines, ("DELETE",)).get("DELETE", "").split("\n")[0].replace(",", " ").split():
            if after.pop(name.strip("`"), None) is None:
                raise UnreadableAnswerError(f"There is no {name[:80]} to delete; name a file of the program.")
    return after


def _parse_unfenced_file(parsed: ParsedAnswer, target_file: str | None) -> dict[str, str]:
    """A file that was given without any fence, by a model that says nothing else."""
    lines = parsed.lines
    if target_file == ENGINE:
        start = next((k for k, line in enumerate(lines) if line.startswith(("import ", "from ", "def ", "class "))), None)
        if start is not None and any(line.startswith("def ") for line in lines):
            return {ENGINE: "\n".join(lines[start:]).strip("\n") + "\n"}
    if target_file == RULEBOOK:
        start = next((k for k, line in enumerate(lines) if find_rule_citations(Hypothesis(line)).rules), None)
        if start is not None:
            return {RULEBOOK: "\n".join(lines[start:]).strip("\n") + "\n"}
    return {}


def _has_keyword(text: str, keyword: str) -> bool:
    answer = find_json_object(clean_answer(text), ("retain",))
    if answer is not None:
        return keyword == "RETAIN" and answer["retain"] is True
    return any(
        line.strip(" \t*#`.>-_").upper().startswith(keyword) for line in iterate_field_lines(parse_answer(clean_answer(text)))
    )


# -- judge ----------------------------------------------------------------------------------------------

JUDGEMENT_SCHEMA = _build_object_schema(
    {
        "rules": {
            "type": "array",
            "items": _build_object_schema({"rule": _TEXT_SCHEMA, "implemented": {"type": "boolean"}, "where": _TEXT_SCHEMA}),
        },
        "faithful": {"type": "boolean"},
        "reason": _TEXT_SCHEMA,
    }
)


def read_judgement(text: str, rules: tuple[str, ...], *, final_attempt: bool = False) -> Judgement:
    """Per rule where it is implemented or what is missing, then the verdict (Eq. 21). Raises Unreadable, also for one that does
    not agree with itself or leaves a rule out (on the last reading only for what decides nothing)."""
    answer = find_json_object(clean_answer(text), ("faithful",))
    parsed = _parse_judgement_json(answer) if answer is not None else _parse_judgement_text(text, rules)
    locations, faithful, reason, missing = parsed
    if faithful is None:
        raise UnreadableAnswerError(
            "There is no VERDICT in your answer; end with a line `VERDICT: faithful` or `VERDICT: unfaithful`."
        )
    if faithful and missing:
        raise UnreadableAnswerError(
            f"You say faithful, and that {', '.join(missing)} is missing; look again, and say one or the other."
        )
    unmentioned = [rule for rule in rules if rule not in locations]
    if unmentioned and not final_attempt:
        raise UnreadableAnswerError(f"Nothing is said of {', '.join(unmentioned)}; write a line for every rule, then the verdict.")
    locations |= dict.fromkeys(unmentioned, "not told by the judge")
    if not faithful and not reason:
        reason = "; ".join(f"{rule}: {locations[rule]}" for rule in missing)
        if not reason:
            raise UnreadableAnswerError("You say unfaithful and not why; add a line `REASON: ` that says what is missing, by rule.")
    return Judgement(faithful, locations, reason)


_ParsedJudgement = tuple[dict[str, str], bool | None, str, list[str]]


def _parse_judgement_json(answer: Mapping[str, Any]) -> _ParsedJudgement:
    locations, missing = {}, []
    rules = answer.get("rules")
    for entry in rules if isinstance(rules, list) else []:
        if not isinstance(entry, dict) or not isinstance(entry.get("rule"), str):
            raise UnreadableAnswerError(
                "`rules` is a list of objects with rule, implemented and where; answer in the shape of the schema."
            )
        locations[entry["rule"]] = str(entry.get("where", ""))
        if entry.get("implemented") is False:
            missing.append(entry["rule"])
    faithful = answer["faithful"]
    if not isinstance(faithful, bool):
        raise UnreadableAnswerError("`faithful` is true or false; answer in the shape of the schema.")
    return locations, faithful, str(answer.get("reason") or ""), missing


def _parse_judgement_text(text: str, rules: tuple[str, ...]) -> _ParsedJudgement:
    names = (*sorted(rules, key=len, reverse=True), "VERDICT", "REASON")
    answer_fields = find_fields(list(iterate_field_lines(parse_answer(clean_answer(text)))), names)
    verdict = match_choice(answer_fields.pop("VERDICT", ""), ("faithful", "unfaithful", "not_faithful"))
    reason = answer_fields.pop("REASON", "")
    locations = {rule: answer_fields[rule] for rule in rules if rule in answer_fields}
    missing = [
        rule for rule, location in locations.items() if location.lstrip("*_`- ").upper().startswith(("MISSING", "NOT IMPLEMENTED"))
    ]
    return locations, None if verdict is None else verdict == "faithful", reason, missing


# -- explore, direct ------------------------------------------------------------------------------------

ACTION_SCHEMA = _build_object_schema({"action": _TEXT_SCHEMA, "question": _TEXT_SCHEMA})
EXPLORATION_SCHEMA = _build_object_schema({"subgoal": _TEXT_SCHEMA, "action": _TEXT_SCHEMA, "question": _TEXT_SCHEMA})


def read_exploration(text: str, interface: Interface, *, may_name_subgoal: bool) -> Subgoal | Probe:
    """A subgoal (where `subgoals` may be named) or a probe, with its question. Raises Unreadable."""
    answer = find_json_object(clean_answer(text), ("subgoal", "action"))
    if answer is not None:
        source, action = str(answer.get("subgoal") or ""), str(answer.get("action") or "")
        question = str(answer.get("question") or "")
    else:
        parsed = parse_answer(clean_answer(text))
        answer_fields = find_fields(list(iterate_field_lines(parsed)), ("SUBGOAL", "PROBE", "ACTION", "QUESTION"))
        blocks = [block.body for block in parsed.blocks if "def subgoal" in block.body]
        source = blocks[-1] if blocks else answer_fields.get("SUBGOAL", "")
        action, question = answer_fields.get("PROBE") or answer_fields.get("ACTION") or "", answer_fields.get("QUESTION", "")
    source, action, question = (source if "def subgoal" in source else ""), action.strip(), question.strip()
    if source and action:
        raise UnreadableAnswerError("Your answer names both a subgoal and a probe; choose one.")
    if not source and not action:
        expected = "either `PROBE: ` with an action, or a fenced block that defines `def subgoal(state)`"
        raise UnreadableAnswerError(
            f"There is nothing to do in your answer; write {expected if may_name_subgoal else '`PROBE: ` with an action'}."
        )
    if source and not may_name_subgoal:
        raise UnreadableAnswerError("No program stands that could plan a way to a subgoal; name one action after `PROBE: `.")
    if not question:
        raise UnreadableAnswerError("There is no question in your answer; write after `QUESTION: ` what you want to learn from it.")
    return Subgoal(source.strip("\n") + "\n", question) if source else Probe(read_action(action, interface), question)


def read_direct(text: str, interface: Interface) -> Probe:
    """One action and why. Raises Unreadable."""
    answer = find_json_object(clean_answer(text), ("action",))
    answer_fields = _find_answer_fields(text, ("ACTION", "REASON")) if answer is None else {}
    action = str(answer["action"]) if answer is not None else answer_fields.get("ACTION", "")
    if not action.strip():
        raise UnreadableAnswerError("There is no action in your answer; write a line `ACTION: ` with its number.")
    reason = str(answer.get("question") or "") if answer is not None else answer_fields.get("REASON", "")
    return Probe(read_action(action, interface), reason or "What comes of it?")


def read_action(text: str, interface: Interface) -> Action:
    """`3`, `6 x=10 y=20`, `6@10,20` or `RESET`, on its first line. Raises Unreadable."""
    line = text.strip().split("\n")[0].strip(" `*.()[]")
    if line.upper().startswith("RESET"):
        return RESET
    numbers = [int(digits) for digits in _NUMBER.findall(line)[:4]]
    action_list = ", ".join(map(str, interface.actions))
    if not numbers:
        raise UnreadableAnswerError(f"`{line[:60]}` is no action; give its number, one of {action_list}, or RESET.")
    if numbers[0] == 0 and len(numbers) == 1:
        return RESET
    if numbers[0] not in interface.actions:
        raise UnreadableAnswerError(f"There is no action {numbers[0]}; the actions are {action_list}, and RESET.")
    if numbers[0] not in interface.clicks:
        return Action(numbers[0])
    if len(numbers) < 3:
        raise UnreadableAnswerError(f"Action {numbers[0]} is a click; write it as `{numbers[0]} x=COLUMN y=ROW`.")
    x, y = numbers[1:3]
    coordinates = dict(_COORDINATE.findall(line.lower()))
    if {"x", "y"} <= set(coordinates):  # y may come first
        x, y = int(coordinates["x"]), int(coordinates["y"])
    height, width = interface.shape
    if not (0 <= x < width and 0 <= y < height):
        raise UnreadableAnswerError(f"A click at x={x}, y={y} lies outside; x is 0 to {width - 1}, y is 0 to {height - 1}.")
    return Action(numbers[0], x, y)


def _find_answer_fields(text: str, names: tuple[str, ...]) -> dict[str, str]:
    """Fields of a text answer, or of a JSON object with the same names in small letters."""
    answer = find_json_object(clean_answer(text), tuple(name.lower() for name in names))
    if answer is not None:
        return {name: str(answer[name.lower()]) for name in names if answer.get(name.lower()) is not None}
    return find_fields(list(iterate_field_lines(parse_answer(clean_answer(text)))), names)


Read = Callable[[str, bool], Any]
"""(what was said, is it the last time) -> the typed answer; raises Unreadable."""
