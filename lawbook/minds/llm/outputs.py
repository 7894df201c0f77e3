"""The operators' answers: their types, their JSON schemas, and how each is read from what a model said."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from itertools import takewhile
from typing import Any

from lawbook.core.hypothesis import ENGINE, RULEBOOK, Decision, Hypothesis, trace
from lawbook.core.record import RESET, Action
from lawbook.core.results import Judgement, Probe, Subgoal
from lawbook.minds.base import Interface
from lawbook.minds.llm.file_edits import changed, from_json
from lawbook.minds.llm.parsing import Said, Unreadable, clean, fields, json_in, outside, take_apart, word

Schema = Mapping[str, Any]

_NUMBER = re.compile(r"(?<![\d.])-?\d{1,9}(?![\d.]\d)")
_OPENS = re.compile(r"\s*(?:`{3}|~{3}|<{5,})")
_FILE_NAME = re.compile(r"\W*[\w./-]+\.(?:py|md)\W*")
_PLACED = re.compile(r"\b([xy])\s*[=:]?\s*(\d{1,9})")
_TEXT = {"type": "string"}


def _object(properties: dict[str, Any], required: tuple[str, ...] = ()) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": list(required or properties),
        "additionalProperties": False,
    }


_FILES = {"type": "array", "items": _object({"name": _TEXT, "source": _TEXT})}
_EDITS = {"type": "array", "items": _object({"file": _TEXT, "search": _TEXT, "replace": _TEXT})}


# -- reflect --------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Reflection:
    """d of Eq. 16, and what was wrong, in a few sentences."""

    decision: Decision
    diagnosis: str


def reflection_schema(allowed: tuple[Decision, ...]) -> Schema:
    return _object({"decision": {"type": "string", "enum": [one.value for one in allowed]}, "diagnosis": _TEXT})


def read_reflection(text: str, allowed: tuple[Decision, ...]) -> Reflection:
    """Raises Unreadable, also for a decision that is not `allowed` now."""
    found = _fields(text, ("DECISION", "DIAGNOSIS"))
    choices = ", ".join(allowed)
    if not found.get("DECISION"):
        raise Unreadable(f"There is no DECISION in your answer; write a line `DECISION: ` with one of {choices}.")
    decision = word(found["DECISION"], tuple(Decision))
    if decision is None:
        raise Unreadable(f"The decision {found['DECISION'][:60]!r} is none of {choices}; write one of them after `DECISION: `.")
    if decision not in allowed:
        why = "retain is no answer to a wrong prediction or a refusal; " if decision == Decision.RETAIN else ""
        raise Unreadable(f"{why}{decision} cannot be chosen here; decide between {choices}.")
    return Reflection(Decision(decision), found.get("DIAGNOSIS", ""))


# -- revise, compile, simplify --------------------------------------------------------------------------


@dataclass(frozen=True)
class Texts:
    """Rulebook and program after an answer."""

    rulebook: str
    files: Mapping[str, str] = field(default_factory=dict)


REVISION_SCHEMA = _object({"files": _FILES, "edits": _EDITS})
COMPILATION_SCHEMA = REVISION_SCHEMA
DIAGNOSED_SCHEMA = _object({"diagnosis": _TEXT, "files": _FILES, "edits": _EDITS})
SIMPLIFICATION_SCHEMA = _object({"retain": {"type": "boolean"}, "files": _FILES, "edits": _EDITS})


def read_revision(text: str, before: str, *, last: bool = False) -> str:
    """The rulebook (Eq. 17) after an answer: whole, or edited. Raises Unreadable."""
    after = _texts(text, {RULEBOOK: before} if before else {}, RULEBOOK, last=last)
    extra = [name for name in after if name != RULEBOOK]
    if extra:
        raise Unreadable(f"Now only {RULEBOOK} is wanted, not {extra[0]}; the program is asked for next.")
    book = after.get(RULEBOOK, "")
    if not book.strip():
        raise Unreadable(f"There is no rulebook in your answer; give {RULEBOOK} whole in a fenced block, or edits of it.")
    if book == before:
        raise Unreadable("The rulebook is as it was; change what the diagnosis says is wrong.")
    if not trace(Hypothesis(book)).rules:
        raise Unreadable("The rulebook numbers no rules; begin each with R1, R2, ... at the start of a line.")
    return book


def read_compilation(text: str, before: Mapping[str, str], *, unchanged: bool, last: bool = False) -> dict[str, str]:
    """The program (Eq. 18) after an answer. unchanged: may it stay as it is, said by `NO CHANGE`? Raises Unreadable."""
    after = _texts(text, before, ENGINE, last=last)
    if RULEBOOK in after:
        raise Unreadable(f"Now only the program is wanted; {RULEBOOK} stays as it is, so leave it out of your answer.")
    if after != dict(before):
        if ENGINE not in after:
            raise Unreadable(f"The program has no {ENGINE}; give that file too.")
        return after
    if unchanged and before and _says(text, "NO CHANGE"):
        return after
    if not before:
        raise Unreadable(f"There is no program in your answer; write {ENGINE} on a line and its source in a fenced block.")
    how = ", or write NO CHANGE where the program already does what the rulebook says" if unchanged else ""
    raise Unreadable(f"The program is as it was; give edits or whole files that change it{how}.")


def read_diagnosis(text: str) -> str:
    """What a program's author says before its files that the evidence means; empty where nothing is said."""
    plain = clean(text)
    answer = json_in(plain, ("files", "edits"))
    if answer is not None:
        return str(answer.get("diagnosis") or "").strip()
    head = list(takewhile(lambda line: not _OPENS.match(line), plain.split("\n")))
    while head and (not head[-1].strip() or (len(head[-1]) <= 120 and _FILE_NAME.fullmatch(head[-1]))):
        head.pop()
    return fields(head, ("DIAGNOSIS", "DELETE")).get("DIAGNOSIS", "")


def read_simplification(text: str, before: Hypothesis, *, rulebook: bool, last: bool = False) -> Hypothesis | None:
    """Something shorter, or None for `RETAIN` (Eq. 23). rulebook: is there one? Raises Unreadable, also when it is not shorter."""
    base = dict(before.files) | ({RULEBOOK: before.rulebook} if rulebook else {})
    after = _texts(text, base, None if rulebook else ENGINE, last=last)
    if after == base:
        if _says(text, "RETAIN"):
            return None
        raise Unreadable("Nothing is shorter in your answer; give edits or whole files, or write RETAIN.")
    if not rulebook and RULEBOOK in after:
        raise Unreadable(f"There is no {RULEBOOK} here; answer with the program's files alone.")
    found = Hypothesis(after.pop(RULEBOOK, before.rulebook), after)
    if found.description_bytes >= before.description_bytes and not last:
        sizes = f"{found.description_bytes:,} bytes against {before.description_bytes:,}"
        raise Unreadable(f"That is not shorter: {sizes}, comments not counted; shorten it, or write RETAIN.")
    return found


def _texts(text: str, before: Mapping[str, str], only: str | None, *, last: bool) -> dict[str, str]:
    answer = json_in(clean(text), ("files", "edits"))
    if answer is not None:
        after = from_json(answer, before, only)
    else:
        said = take_apart(clean(text))
        after = changed(said, before, only, last=last)
        if not said.blocks and not said.edits:
            after |= _bare(said, only)
        for name in fields(said.lines, ("DELETE",)).get("DELETE", "").split("\n")[0].replace(",", " ").split():
            if after.pop(name.strip("`"), None) is None:
                raise Unreadable(f"There is no {name[:80]} to delete; name a file of the program.")
    return after


def _bare(said: Said, only: str | None) -> dict[str, str]:
    """A file that was given without any fence, by a model that says nothing else."""
    lines = said.lines
    if only == ENGINE:
        start = next((k for k, line in enumerate(lines) if line.startswith(("import ", "from ", "def ", "class "))), None)
        if start is not None and any(line.startswith("def ") for line in lines):
            return {ENGINE: "\n".join(lines[start:]).strip("\n") + "\n"}
    if only == RULEBOOK:
        start = next((k for k, line in enumerate(lines) if trace(Hypothesis(line)).rules), None)
        if start is not None:
            return {RULEBOOK: "\n".join(lines[start:]).strip("\n") + "\n"}
    return {}


def _says(text: str, sign: str) -> bool:
    answer = json_in(clean(text), ("retain",))
    if answer is not None:
        return sign == "RETAIN" and answer["retain"] is True
    return any(line.strip(" \t*#`.>-_").upper().startswith(sign) for line in outside(take_apart(clean(text))))


# -- judge ----------------------------------------------------------------------------------------------

JUDGEMENT_SCHEMA = _object(
    {
        "rules": {"type": "array", "items": _object({"rule": _TEXT, "implemented": {"type": "boolean"}, "where": _TEXT})},
        "faithful": {"type": "boolean"},
        "reason": _TEXT,
    }
)


def read_judgement(text: str, rules: tuple[str, ...], *, last: bool = False) -> Judgement:
    """Per rule where it is implemented or what is missing, then the verdict (Eq. 21). Raises Unreadable, also for one that does
    not agree with itself or leaves a rule out (on the last reading only for what decides nothing)."""
    answer = json_in(clean(text), ("faithful",))
    said = _judged_json(answer) if answer is not None else _judged_text(text, rules)
    told, faithful, reason, missing = said
    if faithful is None:
        raise Unreadable("There is no VERDICT in your answer; end with a line `VERDICT: faithful` or `VERDICT: unfaithful`.")
    if faithful and missing:
        raise Unreadable(f"You say faithful, and that {', '.join(missing)} is missing; look again, and say one or the other.")
    left = [rule for rule in rules if rule not in told]
    if left and not last:
        raise Unreadable(f"Nothing is said of {', '.join(left)}; write a line for every rule, then the verdict.")
    told |= dict.fromkeys(left, "not told by the judge")
    if not faithful and not reason:
        reason = "; ".join(f"{rule}: {told[rule]}" for rule in missing)
        if not reason:
            raise Unreadable("You say unfaithful and not why; add a line `REASON: ` that says what is missing, by rule.")
    return Judgement(faithful, told, reason)


_Judged = tuple[dict[str, str], bool | None, str, list[str]]


def _judged_json(answer: Mapping[str, Any]) -> _Judged:
    told, missing = {}, []
    rules = answer.get("rules")
    for one in rules if isinstance(rules, list) else []:
        if not isinstance(one, dict) or not isinstance(one.get("rule"), str):
            raise Unreadable("`rules` is a list of objects with rule, implemented and where; answer in the shape of the schema.")
        told[one["rule"]] = str(one.get("where", ""))
        if one.get("implemented") is False:
            missing.append(one["rule"])
    faithful = answer["faithful"]
    if not isinstance(faithful, bool):
        raise Unreadable("`faithful` is true or false; answer in the shape of the schema.")
    return told, faithful, str(answer.get("reason") or ""), missing


def _judged_text(text: str, rules: tuple[str, ...]) -> _Judged:
    names = (*sorted(rules, key=len, reverse=True), "VERDICT", "REASON")
    found = fields(list(outside(take_apart(clean(text)))), names)
    verdict = word(found.pop("VERDICT", ""), ("faithful", "unfaithful", "not_faithful"))
    reason = found.pop("REASON", "")
    told = {rule: found[rule] for rule in rules if rule in found}
    missing = [rule for rule, where in told.items() if where.lstrip("*_`- ").upper().startswith(("MISSING", "NOT IMPLEMENTED"))]
    return told, None if verdict is None else verdict == "faithful", reason, missing


# -- explore, direct ------------------------------------------------------------------------------------

ACTION_SCHEMA = _object({"action": _TEXT, "question": _TEXT})
EXPLORATION_SCHEMA = _object({"subgoal": _TEXT, "action": _TEXT, "question": _TEXT})


def read_exploration(text: str, interface: Interface, *, subgoals: bool) -> Subgoal | Probe:
    """A subgoal (where `subgoals` may be named) or a probe, with its question. Raises Unreadable."""
    answer = json_in(clean(text), ("subgoal", "action"))
    if answer is not None:
        source, action = str(answer.get("subgoal") or ""), str(answer.get("action") or "")
        question = str(answer.get("question") or "")
    else:
        said = take_apart(clean(text))
        found = fields(list(outside(said)), ("SUBGOAL", "PROBE", "ACTION", "QUESTION"))
        blocks = [block.body for block in said.blocks if "def subgoal" in block.body]
        source = blocks[-1] if blocks else found.get("SUBGOAL", "")
        action, question = found.get("PROBE") or found.get("ACTION") or "", found.get("QUESTION", "")
    source, action, question = (source if "def subgoal" in source else ""), action.strip(), question.strip()
    if source and action:
        raise Unreadable("Your answer names both a subgoal and a probe; choose one.")
    if not source and not action:
        either = "either `PROBE: ` with an action, or a fenced block that defines `def subgoal(state)`"
        raise Unreadable(f"There is nothing to do in your answer; write {either if subgoals else '`PROBE: ` with an action'}.")
    if source and not subgoals:
        raise Unreadable("No program stands that could plan a way to a subgoal; name one action after `PROBE: `.")
    if not question:
        raise Unreadable("There is no question in your answer; write after `QUESTION: ` what you want to learn from it.")
    return Subgoal(source.strip("\n") + "\n", question) if source else Probe(read_action(action, interface), question)


def read_direct(text: str, interface: Interface) -> Probe:
    """One action and why. Raises Unreadable."""
    answer = json_in(clean(text), ("action",))
    found = _fields(text, ("ACTION", "REASON")) if answer is None else {}
    action = str(answer["action"]) if answer is not None else found.get("ACTION", "")
    if not action.strip():
        raise Unreadable("There is no action in your answer; write a line `ACTION: ` with its number.")
    reason = str(answer.get("question") or "") if answer is not None else found.get("REASON", "")
    return Probe(read_action(action, interface), reason or "What comes of it?")


def read_action(text: str, interface: Interface) -> Action:
    """`3`, `6 x=10 y=20`, `6@10,20` or `RESET`, on its first line. Raises Unreadable."""
    line = text.strip().split("\n")[0].strip(" `*.()[]")
    if line.upper().startswith("RESET"):
        return RESET
    numbers = [int(one) for one in _NUMBER.findall(line)[:4]]
    known = ", ".join(map(str, interface.actions))
    if not numbers:
        raise Unreadable(f"`{line[:60]}` is no action; give its number, one of {known}, or RESET.")
    if numbers[0] == 0 and len(numbers) == 1:
        return RESET
    if numbers[0] not in interface.actions:
        raise Unreadable(f"There is no action {numbers[0]}; the actions are {known}, and RESET.")
    if numbers[0] not in interface.clicks:
        return Action(numbers[0])
    if len(numbers) < 3:
        raise Unreadable(f"Action {numbers[0]} is a click; write it as `{numbers[0]} x=COLUMN y=ROW`.")
    x, y = numbers[1:3]
    place = dict(_PLACED.findall(line.lower()))
    if {"x", "y"} <= set(place):  # y may come first
        x, y = int(place["x"]), int(place["y"])
    height, width = interface.shape
    if not (0 <= x < width and 0 <= y < height):
        raise Unreadable(f"A click at x={x}, y={y} lies outside; x is 0 to {width - 1}, y is 0 to {height - 1}.")
    return Action(numbers[0], x, y)


def _fields(text: str, names: tuple[str, ...]) -> dict[str, str]:
    """Fields of a text answer, or of a JSON object with the same names in small letters."""
    answer = json_in(clean(text), tuple(name.lower() for name in names))
    if answer is not None:
        return {name: str(answer[name.lower()]) for name in names if answer.get(name.lower()) is not None}
    return fields(list(outside(take_apart(clean(text)))), names)


Read = Callable[[str, bool], Any]
"""(what was said, is it the last time) -> the typed answer; raises Unreadable."""
