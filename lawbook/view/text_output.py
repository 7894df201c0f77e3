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
from lawbook.view.costs import LevelBill
from lawbook.view.display_events import Proposed
from lawbook.view.event_stream import story
from lawbook.view.formatting import clean, count, moment, one_line, percent, seconds
from lawbook.view.live_layout import COLOURS
from lawbook.view.metrics import Brief, RunNumbers
from lawbook.view.rulebook_diff import diff, texts

if TYPE_CHECKING:
    from lawbook.runs.recheck import Checked


def ending(numbers: RunNumbers) -> Text:
    """How it went, in one line."""
    colour = COLOURS["good" if numbers.outcome == "won" else "bad"]
    of = f" of {numbers.levels}" if numbers.levels else ""
    shortest = f" ({numbers.baseline} {numbers.shortest})" if numbers.shortest and numbers.outcome == "won" else ""
    told = [
        f"{numbers.levels_completed}{of} levels",
        count(numbers.actions, "action") + shortest,
        count(numbers.versions, "version"),
        count(numbers.mismatches, "mismatch", "mismatches"),
        seconds(numbers.seconds),
    ]
    return Text.assemble((numbers.outcome or "not ended", f"bold {colour}"), f": {', '.join(told)}")


def show(numbers: RunNumbers, path: Path) -> Iterator[Text]:
    """Everything that `show` says."""
    n = numbers
    population = f", {n.population} members" if n.population > 1 else ""
    yield Text(one_line(n.world), style="bold")
    yield Text(one_line(f"{n.mind} under {n.protocol}{population}, seed {n.seed}, budget {n.budget:,}"))
    yield Text.assemble((n.outcome or "not ended", "bold"), f": {one_line(n.sentence)}")
    yield Text()
    yield from _levels(n)
    yield Text()
    rows = [
        ("actions", f"{n.actions:,}: " + ", ".join(f"{n.sorts[s]:,} {s} ({percent(n.sorts[s], n.actions)})" for s in n.sorts)),
        (
            "predictions",
            f"{n.compared:,} compared, {n.exact:,} came true ({percent(n.exact, n.compared)})" if n.compared else "none",
        ),
        ("mismatches", f"{n.mismatches:,}"),
        ("versions", f"{n.versions:,} accepted"),
        ("refusals", f"{n.refusals:,}" + _listed({k: v for k, v in n.proposals.items() if k != "admissible"})),
        (
            "agent turns",
            f"{count(n.mind_calls, 'mind call')}{_listed(n.calls)}" + (f", {n.failed_calls} failed" if n.failed_calls else ""),
        ),
        *([("commands", _commands(n))] if n.commands else []),
        *([("assisted", f"a person spoke {count(n.assisted, 'time')}")] if n.assisted else []),
        *(n.bill.rows(n.actions) if n.bill else _costs(n)),
        ("description", _description(n)),
        (
            "time",
            f"{seconds(n.seconds)}, of it {seconds(n.thinking_seconds)} the mind, {seconds(n.verifying_seconds)} verifying "
            f"({count(n.replayed, 'step')} replayed)",
        ),
        ("sandbox", one_line(n.sandbox) or "unknown"),
        ("began", moment(n.began)),
        ("ledger", f"{count(n.events, 'event')}, head {n.head}"),
        ("run", str(path)),
    ]
    for name, value in rows:
        yield Text.assemble((f"{name:<13}", "dim"), value)


def _commands(n: RunNumbers) -> str:
    failed = f"{n.refused_commands:,} refused or not as predicted"
    return f"{n.commands:,} of agents at their doors ({failed}), {n.printed:,} characters printed"


def _listed(parts: dict[str, int]) -> str:
    kept = [f"{number:,} {one_line(name)}" for name, number in parts.items() if number]
    return f" ({', '.join(kept)})" if kept else ""


def _description(n: RunNumbers) -> str:
    members = [
        f"{count(rules, 'rule')}, {size:,} bytes with the program" + ("" if stands else " (falsified)")
        for rules, size, stands in zip(n.rules, n.description_bytes, n.standing, strict=True)
        if size
    ]
    return "; ".join(members) if len(members) < 2 else "; ".join(f"member {k}: {one}" for k, one in enumerate(members))


def _costs(n: RunNumbers) -> list[tuple[str, str]]:
    return [("costs", ", ".join(f"{value:,.6g} {one_line(name)}" for name, value in n.costs.items()))] if n.costs else []


def _levels(n: RunNumbers) -> Iterator[Text]:
    paid = f"{'calls':>8}{'tokens':>11}{'dollars':>9}" if n.bill else ""
    yield Text(f"{'level':<7}{'actions':>9}{n.baseline:>10}{'resets':>8}{'deaths':>8}{paid}", style="dim")
    for one in n.per_level:
        baseline = "-" if one.baseline is None else f"{one.baseline:,}"
        done = ("completed", COLOURS["good"]) if one.completed else ("", "")
        paid = _paid(n.bill.per_level.get(one.level, LevelBill())) if n.bill else ""
        yield Text.assemble(f"{one.level + 1:<7}{one.actions:>9,}{baseline:>10}{one.resets:>8,}{one.deaths:>8,}{paid}  ", done)


def _paid(spent: LevelBill) -> str:
    return f"{spent.calls:>8,}{spent.tokens:>11,}{'?' if spent.dollars is None else format(spent.dollars, ',.2f'):>9}"


def runs(rows: Iterable[tuple[str, Brief | str]]) -> Iterator[Text]:
    """One line a run: its name, how it ended, what it was. A string in place of numbers says why it cannot be read."""
    found = list(rows)
    width = max((len(name) for name, _ in found), default=0)
    for name, n in found:
        if isinstance(n, str):
            yield Text.assemble((f"{name:<{width}}  ", "bold"), (one_line(n), COLOURS["bad"]))
            continue
        of = f"/{n.levels}" if n.levels else ""
        colour = COLOURS["good" if n.outcome == "won" else "plain"]
        yield Text.assemble(
            (f"{name:<{width}}  ", "bold"),
            (f"{n.outcome or 'open':<17}", colour),
            f"{n.levels_completed}{of} levels {n.actions:>6,} actions  ",
            (one_line(f"{n.mind} under {n.protocol}, seed {n.seed}: {n.world}"), "dim"),
        )


def history(ledger: Ledger, *, member: int | None = None, full: bool = False) -> Iterator[Text]:
    """Every proposal: what was decided and why it was asked, what the gate said, the rulebook's diff. full: the program's diff and
    the whole texts too. Raises UsageError."""
    told_any = False
    for told, state in story(ledger):
        if member is not None and not 0 <= member < len(state.members):
            raise UsageError(f"There is no member {member}; this run has {len(state.members)}, counted from 0.")
        if not isinstance(told, Proposed) or (member is not None and told.member != member):
            continue
        told_any = True
        whose = f", member {told.member}" if len(state.members) > 1 else ""
        verdict = f"accepted as version {told.version}" if told.version else "accepted" if told.accepted else told.refused
        yield Text.assemble(
            (f"proposal {told.number}", "bold"),
            f"{whose}: {told.decision}, asked because of {told.why}, after {count(told.at, 'action')}: ",
            (verdict, COLOURS[told.mood]),
        )
        if told.diagnosis.strip():
            yield Text(f"  because: {one_line(told.diagnosis)}")
        if not told.accepted:
            for line in clean(told.verdict.reason).splitlines():
                yield Text(f"  {line}", style=COLOURS["bad"])
        yield from (_diff_line(line) for line in diff(told.before, told.after, program=full))
        if full:
            yield from _full(told.after)
        yield Text()
    if not told_any:
        yield Text("Nothing was proposed." if member is None else f"Member {member} proposed nothing.")
    elif not full:
        yield Text("--full shows the programs' diffs and the whole texts too.", style="dim")


def _full(hypothesis: Hypothesis) -> Iterator[Text]:
    for name, text in texts(hypothesis).items():
        yield Text(f"  == {clean(name)}", style="bold")
        for line in clean(text).split("\n"):
            yield Text(f"  {line}")


def _diff_line(line: str) -> Text:
    style = "bold" if line[:3] in ("---", "+++") else {"+": "green", "-": "red", "@": "cyan"}.get(line[:1], "")
    return Text(f"  {clean(line)}", style=style)


def verified(member: int, verdict: Verdict | None, steps: int, fallen: str = "") -> Text:
    """What `verify` found about one member; None: nothing admissible stood at the end, fallen says why."""
    if verdict is None:
        return Text(f"member {member}: {fallen or 'nothing admissible stood at the end'}, so there is nothing to verify")
    if verdict.admissible:
        return Text.assemble(
            f"member {member}: ",
            ("verified", COLOURS["good"]),
            f", replays all {count(steps, 'step')} exactly in {seconds(verdict.seconds)}",
        )
    return Text.assemble(
        f"member {member}: ", (f"not verified ({verdict.outcome})", COLOURS["bad"]), f". {one_line(verdict.reason)}"
    )


def checked(found: Checked) -> Iterator[Text]:
    """Everything that `verify` says."""
    if found.broken is not None:
        yield Text.assemble("ledger: ", ("altered", COLOURS["bad"]), f". {one_line(found.broken)}")
        return
    yield Text.assemble("ledger: ", ("the chain holds", COLOURS["good"]), f", head {found.head}")
    for member, verdict in enumerate(found.verdicts):
        yield verified(member, verdict, found.steps, found.fallen[member] if found.fallen else "")
