"""The text of commands: what `play` says at its end, `runs`, `show`, `history` and `verify`. Lines for rich; prints nothing."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from rich.text import Text

from lawbook.core.hypothesis import Hypothesis
from lawbook.core.results import Verdict
from lawbook.errors import UsageError
from lawbook.ledger.ledger import Ledger
from lawbook.verification.claims import ClaimCounts
from lawbook.view.costs import LevelCosts
from lawbook.view.display_events import ProposalJudged
from lawbook.view.event_stream import read_display_events
from lawbook.view.formatting import clean, format_count, format_one_line, format_percent, format_seconds, format_timestamp
from lawbook.view.live_layout import COLOURS
from lawbook.view.metrics import RunMetrics, RunSummary
from lawbook.view.rulebook_diff import collect_texts, diff_hypotheses

if TYPE_CHECKING:
    from lawbook.runs.recheck import RecheckReport


def format_outcome(metrics: RunMetrics) -> Text:
    """Say how it went, in one line."""
    colour = COLOURS["good" if metrics.outcome == "won" else "bad"]
    level_total = f" of {metrics.levels}" if metrics.levels else ""
    baseline_note = (
        f" ({metrics.baseline} {metrics.completed_baseline})" if metrics.completed_baseline and metrics.outcome == "won" else ""
    )
    parts = [
        f"{metrics.levels_completed}{level_total} levels",
        format_count(metrics.actions, "action") + baseline_note,
        format_count(metrics.versions, "version"),
        format_count(metrics.mismatches, "mismatch", "mismatches"),
        format_seconds(metrics.seconds),
    ]
    return Text.assemble((metrics.outcome or "not ended", f"bold {colour}"), f": {', '.join(parts)}")


def format_metrics(metrics: RunMetrics, path: Path) -> Iterator[Text]:
    """Yield the lines of `show`."""
    m = metrics
    population = f", {m.population} members" if m.population > 1 else ""
    yield Text(format_one_line(m.world), style="bold")
    yield Text(format_one_line(f"{m.mind} under {m.protocol}{population}, seed {m.seed}, budget {m.budget:,}"))
    yield Text.assemble((m.outcome or "not ended", "bold"), f": {format_one_line(m.sentence)}")
    yield Text()
    yield from _format_levels(m)
    yield Text()
    rows = [
        (
            "actions",
            f"{m.actions:,}: "
            + ", ".join(
                f"{m.actions_by_kind[s]:,} {s} ({format_percent(m.actions_by_kind[s], m.actions)})" for s in m.actions_by_kind
            ),
        ),
        (
            "predictions",
            f"{m.compared_predictions:,} compared, {m.exact_predictions:,} came true "
            f"({format_percent(m.exact_predictions, m.compared_predictions)})"
            if m.compared_predictions
            else "none",
        ),
        *([("claims", _format_claim_counts(m.claims))] if m.claims is not None else []),
        ("mismatches", f"{m.mismatches:,}"),
        ("versions", f"{m.versions:,} accepted"),
        ("refusals", f"{m.refusals:,}" + _format_counts({k: v for k, v in m.proposals.items() if k != "admissible"})),
        (
            "agent turns",
            f"{format_count(m.mind_calls, 'mind call')}{_format_counts(m.calls)}"
            + (f", {m.failed_calls} failed" if m.failed_calls else ""),
        ),
        *([("commands", _format_commands(m))] if m.commands else []),
        *([("assisted", f"a person spoke {format_count(m.n_assists, 'time')}")] if m.n_assists else []),
        *(m.model_costs.format_rows(m.actions) if m.model_costs else _format_costs(m)),
        ("description", _format_description(m)),
        (
            "time",
            f"{format_seconds(m.seconds)}, of it {format_seconds(m.thinking_seconds)} the mind, "
            f"{format_seconds(m.verifying_seconds)} verifying "
            f"({format_count(m.replayed_steps, 'step')} replayed)",
        ),
        ("sandbox", format_one_line(m.sandbox) or "unknown"),
        ("began", format_timestamp(m.started_at)),
        ("ledger", f"{format_count(m.events, 'event')}, head {m.head}"),
        ("run", str(path)),
    ]
    for name, value in rows:
        yield Text.assemble((f"{name:<13}", "dim"), value)


def _format_commands(metrics: RunMetrics) -> str:
    failed = f"{metrics.refused_commands:,} refused or not as predicted"
    return f"{metrics.commands:,} of agents at their doors ({failed}), {metrics.printed_characters:,} characters printed"


def _format_counts(counts: dict[str, int]) -> str:
    items = [f"{n_items:,} {format_one_line(name)}" for name, n_items in counts.items() if n_items]
    return f" ({', '.join(items)})" if items else ""


def _format_description(metrics: RunMetrics) -> str:
    members = [
        f"{format_count(n_rules, 'rule')}, {n_bytes:,} bytes with the program" + ("" if is_admissible else " (falsified)")
        for n_rules, n_bytes, is_admissible in zip(metrics.n_rules, metrics.description_bytes, metrics.admissible, strict=True)
        if n_bytes
    ]
    return "; ".join(members) if len(members) < 2 else "; ".join(f"member {index}: {text}" for index, text in enumerate(members))


def _format_costs(metrics: RunMetrics) -> list[tuple[str, str]]:
    return (
        [("costs", ", ".join(f"{value:,.6g} {format_one_line(name)}" for name, value in metrics.costs.items()))]
        if metrics.costs
        else []
    )


def _format_levels(metrics: RunMetrics) -> Iterator[Text]:
    cost_columns = f"{'calls':>8}{'tokens':>11}{'dollars':>9}" if metrics.model_costs else ""
    yield Text(f"{'level':<7}{'actions':>9}{metrics.baseline:>10}{'resets':>8}{'deaths':>8}{cost_columns}", style="dim")
    for level in metrics.per_level:
        baseline = "-" if level.baseline is None else f"{level.baseline:,}"
        completion = ("completed", COLOURS["good"]) if level.completed else ("", "")
        cost_columns = (
            _format_level_costs(metrics.model_costs.per_level.get(level.level, LevelCosts())) if metrics.model_costs else ""
        )
        yield Text.assemble(
            f"{level.level + 1:<7}{level.actions:>9,}{baseline:>10}{level.resets:>8,}{level.deaths:>8,}{cost_columns}  ", completion
        )


def _format_level_costs(costs: LevelCosts) -> str:
    return f"{costs.calls:>8,}{costs.tokens:>11,}{'?' if costs.dollars is None else format(costs.dollars, ',.2f'):>9}"


def format_runs(rows: Iterable[tuple[str, RunSummary | str]]) -> Iterator[Text]:
    """Yield one line a run: its name, how it ended, what it was. A string in place of numbers says why it cannot be read."""
    run_rows = list(rows)
    width = max((len(name) for name, _ in run_rows), default=0)
    for name, summary in run_rows:
        if isinstance(summary, str):
            yield Text.assemble((f"{name:<{width}}  ", "bold"), (format_one_line(summary), COLOURS["bad"]))
            continue
        level_total = f"/{summary.levels}" if summary.levels else ""
        colour = COLOURS["good" if summary.outcome == "won" else "plain"]
        yield Text.assemble(
            (f"{name:<{width}}  ", "bold"),
            (f"{summary.outcome or 'open':<17}", colour),
            f"{summary.levels_completed}{level_total} levels {summary.actions:>6,} actions  ",
            (format_one_line(f"{summary.mind} under {summary.protocol}, seed {summary.seed}: {summary.world}"), "dim"),
        )


def format_history(ledger: Ledger, *, member: int | None = None, full: bool = False) -> Iterator[Text]:
    """Yield every proposal: what was decided and why it was asked, what the gate said, the rulebook's diff.

    full: the program's diff and the whole texts too. Raises UsageError when the ledger has no opening.
    """
    has_proposals = False
    for event, state in read_display_events(ledger):
        if member is not None and not 0 <= member < len(state.members):
            raise UsageError(f"There is no member {member}; this run has {len(state.members)}, counted from 0.")
        if not isinstance(event, ProposalJudged) or (member is not None and event.member != member):
            continue
        has_proposals = True
        member_note = f", member {event.member}" if len(state.members) > 1 else ""
        decision_text = (
            f"accepted as version {event.version}" if event.version else "accepted" if event.is_accepted else event.refusal_label
        )
        yield Text.assemble(
            (f"proposal {event.number}", "bold"),
            f"{member_note}: {event.decision}, asked because of {event.trigger}, after {format_count(event.at, 'action')}: ",
            (decision_text, COLOURS[event.mood]),
        )
        if event.diagnosis.strip():
            yield Text(f"  because: {format_one_line(event.diagnosis)}")
        if not event.is_accepted:
            for line in clean(event.verdict.reason).splitlines():
                yield Text(f"  {line}", style=COLOURS["bad"])
        yield from (
            _format_diff_line(line) for line in diff_hypotheses(event.old_hypothesis, event.new_hypothesis, include_program=full)
        )
        if full:
            yield from _format_texts(event.new_hypothesis)
        yield Text()
    if not has_proposals:
        yield Text("Nothing was proposed." if member is None else f"Member {member} proposed nothing.")
    elif not full:
        yield Text("--full shows the programs' diffs and the whole texts too.", style="dim")


def _format_claim_counts(claims: ClaimCounts) -> str:
    first, every = (
        f"{format_percent(cells.n_right + cells.n_wrong, cells.n_cells)} of {format_count(cells.n_cells, 'cell')}"
        for cells in (claims.first_seen, claims.changed)
    )
    return f"of what changed: {first} on pairs first seen, {every} on all; {claims.wrong_per_thousand:.1f} steps of 1,000 wrong"


def _format_texts(hypothesis: Hypothesis) -> Iterator[Text]:
    for name, text in collect_texts(hypothesis).items():
        yield Text(f"  == {clean(name)}", style="bold")
        for line in clean(text).split("\n"):
            yield Text(f"  {line}")


def _format_diff_line(line: str) -> Text:
    style = "bold" if line[:3] in ("---", "+++") else {"+": "green", "-": "red", "@": "cyan"}.get(line[:1], "")
    return Text(f"  {clean(line)}", style=style)


def format_verdict(member: int, verdict: Verdict | None, steps: int, refutation: str = "") -> Text:
    """Say what `verify` found about one member; verdict None: nothing admissible stood at the end, and `refutation` says why."""
    if verdict is None:
        return Text(f"member {member}: {refutation or 'nothing admissible stood at the end'}, so there is nothing to verify")
    if verdict.admissible:
        return Text.assemble(
            f"member {member}: ",
            ("verified", COLOURS["good"]),
            f", replays all {format_count(steps, 'step')} exactly in {format_seconds(verdict.seconds)}",
        )
    return Text.assemble(
        f"member {member}: ", (f"not verified ({verdict.outcome})", COLOURS["bad"]), f". {format_one_line(verdict.reason)}"
    )


def format_recheck(result: RecheckReport) -> Iterator[Text]:
    """Yield the lines of `verify`."""
    if result.chain_error is not None:
        yield Text.assemble("ledger: ", ("altered", COLOURS["bad"]), f". {format_one_line(result.chain_error)}")
        return
    yield Text.assemble("ledger: ", ("the chain holds", COLOURS["good"]), f", head {result.head}")
    for member, verdict in enumerate(result.verdicts):
        yield format_verdict(member, verdict, result.n_steps, result.fall_reasons[member] if result.fall_reasons else "")
