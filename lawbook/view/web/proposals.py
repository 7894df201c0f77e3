"""The rulebook as it grew: every proposal with the gate's answer, and one of them whole, rules with their code and evidence."""

from __future__ import annotations

from typing import Any

from lawbook.core.hypothesis import RULEBOOK, find_rule_citations
from lawbook.core.results import Counterexample
from lawbook.errors import UsageError
from lawbook.ledger.body_parts import pack_action
from lawbook.view.display_events import PredictionFailed, ProposalJudged, describe_counterexample
from lawbook.view.formatting import format_one_line, truncate_text
from lawbook.view.rulebook_diff import collect_texts, parse_entry_id
from lawbook.view.run_index import RunIndex
from lawbook.view.web.line_diff import diff_rows, format_file_name

Json = dict[str, Any]
MAX_REGIONS = 24
"""Most regions of a counterexample that are drawn."""


def list_proposals(run_index: RunIndex) -> Json:
    """List all proposals, briefly, oldest first. Reads to the end."""
    run_index.read_events()
    return {"proposals": [_summarize_proposal(run_index, event) for event in run_index.proposals]}


def _summarize_proposal(run_index: RunIndex, event: ProposalJudged) -> Json:
    cause = _find_cause(run_index, event)
    return {
        "number": event.number,
        "seq": event.seq,
        "member": event.member,
        "at": event.at,
        "time": event.time,
        "why": event.trigger,
        "decision": event.decision.value,
        "outcome": event.verdict.outcome.value,
        "version": event.version,
        "bytes": event.new_hypothesis.description_bytes,
        "diagnosis": truncate_text(event.diagnosis, 2000),
        "reason": truncate_text(event.verdict.reason, 4000),
        "replayed": event.verdict.replayed,
        "seconds": event.verdict.seconds,
        "marks": [change.mark for change in event.changes if change.name.startswith(("R", "U"))],
        "cause": None if cause is None else {"step": cause.at, "line": format_one_line(cause.line, 300)},
    }


def _find_cause(run_index: RunIndex, event: ProposalJudged) -> PredictionFailed | None:
    """The wrong prediction that this member was asked about."""
    for mismatch in reversed(run_index.mismatches):
        if mismatch.seq < event.seq and mismatch.member == event.member:
            return mismatch if mismatch.at == event.at or event.trigger in ("mismatch", "refused") else None
    return None


def describe_proposal(run_index: RunIndex, number: int) -> Json:
    """Describe one proposal, with all of its texts beside what they replace.

    number: from 1. Raises UsageError when there is none of that number.
    """
    run_index.read_events()
    if not 1 <= number <= len(run_index.proposals):
        raise UsageError(f"There is no proposal {number}; this run has {len(run_index.proposals)}, counted from 1.")
    event = run_index.proposals[number - 1]
    before, after = collect_texts(event.old_hypothesis), collect_texts(event.new_hypothesis)
    counterexample = event.verdict.counterexample
    judgement = event.verdict.judgement
    return _summarize_proposal(run_index, event) | {
        "changes": [
            {
                "mark": change.mark,
                "name": change.name,
                "text": truncate_text(change.text, 1500),
                "before": truncate_text(change.before, 1500),
            }
            for change in event.changes
        ],
        "texts": [_diff_text(name, before.get(name, ""), after.get(name, "")) for name in dict.fromkeys([*after, *before])]
        if event.new_hypothesis != event.old_hypothesis
        else [],
        "rules": _describe_rules(run_index, event),
        "counterexample": None if counterexample is None else _describe_counterexample(run_index, counterexample),
        "judgement": None
        if judgement is None
        else {rule: truncate_text(finding, 600) for rule, finding in judgement.rules.items()},
    }


def _diff_text(name: str, before: str, after: str) -> Json:
    diff_lines, cut = diff_rows(before, after)
    result: Json = {"name": format_file_name(name), "rows": diff_lines, "cut": cut}
    if name == RULEBOOK:
        result["entries"] = [parse_entry_id(row[3]) for row in diff_lines]
    return result


def _describe_counterexample(run_index: RunIndex, counterexample: Counterexample) -> Json:
    return {
        "step": run_index.find_step(counterexample.trajectory, counterexample.step),
        "level": counterexample.level,
        "action": pack_action(counterexample.action),
        "expected": counterexample.expected.value,
        "predicted": counterexample.predicted.value,
        "cells": counterexample.cells,
        "regions": [region._asdict() for region in counterexample.regions[:MAX_REGIONS]],
        "line": describe_counterexample(counterexample),
    }


def _describe_rules(run_index: RunIndex, event: ProposalJudged) -> Json:
    """Rule -> where the code cites it, and what became of it, version by version, with the step that was the reason."""
    citations = find_rule_citations(event.new_hypothesis)
    histories = _collect_rule_histories(run_index, event)
    return {
        change.name: {
            "places": [
                [format_file_name(file), int(line)] for file, line in map(_split_citation, citations.citations.get(change.name, ()))
            ],
            "past": histories.get(change.text, []),
        }
        for change in event.changes
        if change.mark != "-"
    }


def _split_citation(citation: str) -> tuple[str, str]:
    file, _, line = citation.rpartition(":")
    return file, line


def _collect_rule_histories(run_index: RunIndex, event: ProposalJudged) -> dict[str, list[Json]]:
    """What a rule says -> everything that happened to it; followed through new wordings and new numbers."""
    histories: dict[str, list[Json]] = {}
    for proposal in run_index.proposals[: event.number]:
        if proposal.member != event.member or (proposal.version is None and proposal is not event):
            continue
        current: dict[str, list[Json]] = {}
        for change in proposal.changes:
            if change.mark == "-":
                continue
            previous = histories.get(change.before if change.mark == "~" else change.text, [])
            if change.mark == " ":
                current[change.text] = previous
                continue
            cause = _find_cause(run_index, proposal)
            current[change.text] = [
                *(previous if change.mark == "~" else []),
                {
                    "mark": change.mark,
                    "number": proposal.number,
                    "version": proposal.version,
                    "at": proposal.at,
                    "why": proposal.trigger,
                    "step": None if cause is None else cause.at,
                    "line": "" if cause is None else format_one_line(cause.line, 300),
                },
            ]
        histories = current
    return histories
