"""The rulebook as it grew: every proposal with the gate's answer, and one of them whole, rules with their code and evidence."""

from __future__ import annotations

from typing import Any

from lawbook.core.hypothesis import RULEBOOK, trace
from lawbook.core.results import Counterexample
from lawbook.errors import UsageError
from lawbook.ledger.codec import pack_action
from lawbook.view.display_events import Missed, Proposed, parted
from lawbook.view.formatting import one_line, shown
from lawbook.view.rulebook_diff import entry, texts
from lawbook.view.run_index import Chronicle
from lawbook.view.web.line_diff import name_of, rows

Json = dict[str, Any]
REGIONS = 24
"""Most regions of a counterexample that are drawn."""


def proposals(chronicle: Chronicle) -> Json:
    """All of them, briefly, oldest first. Reads to the end."""
    chronicle.read()
    return {"proposals": [_brief(chronicle, told) for told in chronicle.proposals]}


def _brief(chronicle: Chronicle, told: Proposed) -> Json:
    missed = _cause(chronicle, told)
    return {
        "number": told.number,
        "seq": told.seq,
        "member": told.member,
        "at": told.at,
        "time": told.time,
        "why": told.why,
        "decision": told.decision.value,
        "outcome": told.verdict.outcome.value,
        "version": told.version,
        "bytes": told.after.description_bytes,
        "diagnosis": shown(told.diagnosis, 2000),
        "reason": shown(told.verdict.reason, 4000),
        "replayed": told.verdict.replayed,
        "seconds": told.verdict.seconds,
        "marks": [change.mark for change in told.changes if change.name.startswith("R")],
        "cause": None if missed is None else {"step": missed.at, "line": one_line(missed.line, 300)},
    }


def _cause(chronicle: Chronicle, told: Proposed) -> Missed | None:
    """The wrong prediction that this member was asked about."""
    for missed in reversed(chronicle.misses):
        if missed.seq < told.seq and missed.member == told.member:
            return missed if missed.at == told.at or told.why in ("mismatch", "refused") else None
    return None


def proposal(chronicle: Chronicle, number: int) -> Json:
    """One, with all of its texts beside what they replace. Raises UsageError when there is none of that number, from 1."""
    chronicle.read()
    if not 1 <= number <= len(chronicle.proposals):
        raise UsageError(f"There is no proposal {number}; this run has {len(chronicle.proposals)}, counted from 1.")
    told = chronicle.proposals[number - 1]
    before, after = texts(told.before), texts(told.after)
    example = told.verdict.counterexample
    judged = told.verdict.judgement
    return _brief(chronicle, told) | {
        "changes": [
            {"mark": c.mark, "name": c.name, "text": shown(c.text, 1500), "before": shown(c.before, 1500)} for c in told.changes
        ],
        "texts": [_text(name, before.get(name, ""), after.get(name, "")) for name in dict.fromkeys([*after, *before])]
        if told.after != told.before
        else [],
        "rules": _rules(chronicle, told),
        "counterexample": None if example is None else _example(chronicle, example),
        "judgement": None if judged is None else {rule: shown(said, 600) for rule, said in judged.rules.items()},
    }


def _text(name: str, before: str, after: str) -> Json:
    found, cut = rows(before, after)
    answer: Json = {"name": name_of(name), "rows": found, "cut": cut}
    if name == RULEBOOK:
        answer["entries"] = [entry(row[3]) for row in found]
    return answer


def _example(chronicle: Chronicle, example: Counterexample) -> Json:
    return {
        "step": chronicle.place(example.trajectory, example.step),
        "level": example.level,
        "action": pack_action(example.action),
        "expected": example.expected.value,
        "predicted": example.predicted.value,
        "cells": example.cells,
        "regions": [region._asdict() for region in example.regions[:REGIONS]],
        "line": parted(example),
    }


def _rules(chronicle: Chronicle, told: Proposed) -> Json:
    """Rule -> where the code cites it, and what became of it, version by version, with the step that was the reason."""
    found = trace(told.after)
    past = _pasts(chronicle, told)
    return {
        change.name: {
            "places": [[name_of(file), int(line)] for file, line in map(_place, found.cited.get(change.name, ()))],
            "past": past.get(change.text, []),
        }
        for change in told.changes
        if change.mark != "-"
    }


def _place(place: str) -> tuple[str, str]:
    file, _, line = place.rpartition(":")
    return file, line


def _pasts(chronicle: Chronicle, told: Proposed) -> dict[str, list[Json]]:
    """What a rule says -> everything that happened to it; followed through new wordings and new numbers."""
    past: dict[str, list[Json]] = {}
    for one in chronicle.proposals[: told.number]:
        if one.member != told.member or (one.version is None and one is not told):
            continue
        now: dict[str, list[Json]] = {}
        for change in one.changes:
            if change.mark == "-":
                continue
            before = past.get(change.before if change.mark == "~" else change.text, [])
            if change.mark == " ":
                now[change.text] = before
                continue
            missed = _cause(chronicle, one)
            now[change.text] = [
                *(before if change.mark == "~" else []),
                {
                    "mark": change.mark,
                    "number": one.number,
                    "version": one.version,
                    "at": one.at,
                    "why": one.why,
                    "step": None if missed is None else missed.at,
                    "line": "" if missed is None else one_line(missed.line, 300),
                },
            ]
        past = now
    return past
