"""The audit of a run: does its ledger tell the truth? A few lines, each of which holds, does not, or could not be looked at."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sized
from dataclasses import asdict, dataclass
from typing import Any

from lawbook.audit.event_checker import EventAudit, Finding
from lawbook.audit.reexecution import Reexecution, fetch_billed, replay_world
from lawbook.errors import HostError, LawbookError, UsageError
from lawbook.ledger.events import EventKind, RecordedSandbox
from lawbook.ledger.git_versions import GitVersions
from lawbook.ledger.ledger import Ledger
from lawbook.runs.consent import Consent
from lawbook.runs.folder import RunFolder
from lawbook.runs.state import fold_events
from lawbook.sandbox.confinement import SandboxReport
from lawbook.sandbox.host import Host
from lawbook.scoring.billing import count_run

_PUBLISHED_HEAD = re.compile(rb"head <code>([0-9a-f]{64})</code>")


@dataclass(frozen=True)
class AuditLine:
    """One line of an audit. ok: it holds; False: it does not; None: there was nothing to hold it against."""

    name: str
    ok: bool | None
    says: str


@dataclass(frozen=True)
class AuditReport:
    """What an audit found. head: of the ledger, to be compared with the one that was published. facts: how the run was made."""

    lines: tuple[AuditLine, ...]
    findings: tuple[Finding, ...]
    head: str
    events: int
    strict: bool
    facts: Mapping[str, Any]

    @property
    def holds(self) -> bool:
        return all(line.ok is not False for line in self.lines)

    def to_json(self) -> dict[str, Any]:
        return {
            "holds": self.holds,
            "strict": self.strict,
            "head": self.head,
            "events": self.events,
            "lines": {line.name: {"ok": line.ok, "says": line.says} for line in self.lines},
            "findings": [asdict(finding) for finding in self.findings],
            **self.facts,
        }


def audit_run(folder: RunFolder, *, strict: bool = False, head: str = "", consent: Consent | None = None) -> AuditReport:
    """Audit a run from its folder. Changes nothing there.

    strict: run every version and plan again, and play the world again. head: the published head, where the report is not to be
    believed. consent: what its programs may do here while they are run again. Raises UsageError where there is no ledger that could
    be read.
    """
    folder.refuse_links()
    with Ledger.open(folder.ledger, readonly=True, check=False) as ledger:  # a line of the audit checks it
        return _Auditor(folder, ledger, strict, head.strip().lower(), consent or Consent()).build_report()


def rebuild_git_memory(folder: RunFolder) -> None:
    """Make the git memory of a run anew from its ledger. Raises UsageError while the run is being played, or has no ledger."""
    folder.refuse_links()
    with Ledger.open(folder.ledger) as ledger:
        GitVersions.rebuild(folder.memory, fold_events(ledger).accepted_versions)


class _Auditor:
    def __init__(self, folder: RunFolder, ledger: Ledger, strict: bool, head: str, consent: Consent) -> None:
        self.consent = consent
        self.folder, self.ledger, self.strict, self.published_head = folder, ledger, strict, head
        self.event_audit = EventAudit(ledger)
        self.findings = list(self.event_audit.findings)

    def build_report(self) -> AuditReport:
        lines = [self._check_chain(), self._check_head()]
        if self.event_audit.openings:
            lines += [
                *self._check_events(),
                self._check_memory(),
                self._check_sandbox(),
                self._describe_help(),
                self._describe_origin(),
            ]
        else:
            lines.append(self._make_line("order", ""))
        return AuditReport(
            tuple(lines), tuple(self.findings), self.ledger.head, self.event_audit.n_events, self.strict, self._collect_facts()
        )

    def _make_line(self, name: str, says: str, ok: bool | None = True) -> AuditLine:
        """A line that holds unless something was found; then the first of it, and how much more."""
        matching = [finding for finding in self.findings if finding.line == name]
        if not matching:
            return AuditLine(name, ok, says)
        rest = f" (and {len(matching) - 1:,} more)" if len(matching) > 1 else ""
        return AuditLine(name, False, f"{matching[0]}{rest}")

    # -- the file ------------------------------------------------------------------------------------------------------------

    def _check_chain(self) -> AuditLine:
        chain_error = self.ledger.check()
        return AuditLine(
            "chain",
            chain_error is None,
            chain_error or f"each of {self.event_audit.n_events:,} events follows from the one before it",
        )

    def _check_head(self) -> AuditLine:
        """A published head must be in the chain: what came before it is then as it was, and nothing of that was cut off."""
        location, published_head = "as given", self.published_head
        if not published_head:
            location = f"in {self.folder.report.name}"
            try:
                match = _PUBLISHED_HEAD.search(self.folder.report.read_bytes())
            except OSError:
                match = None
            published_head = match[1].decode() if match else ""
        if not published_head:
            return self._make_line("head", "published nowhere here; compare what was printed at the end with the head below", None)
        seq = next((event.seq for event in self.ledger if event.hash == published_head), None)
        if seq is None:
            return AuditLine(
                "head", False, f"the head {location} ({published_head[:16]}...) is not in this ledger: it was cut off, or rewritten"
            )
        n_since = self.event_audit.n_events - 1 - seq
        return self._make_line(
            "head", f"{location}, it is that of the last event" if not n_since else f"{location}, it is {n_since:,} events old"
        )

    # -- what it tells -------------------------------------------------------------------------------------------------------

    def _check_events(self) -> Iterator[AuditLine]:
        event_audit = self.event_audit
        hypothesis_audit = event_audit.hypothesis_audit
        self._check_settings()
        resumed_text = f", resumed {_format_times(len(event_audit.openings) - 1)}" if len(event_audit.openings) > 1 else ""
        yield self._make_line("settings", f"{self.folder.toml.name} asks for what the ledger says was asked for{resumed_text}")
        self._check_fold()
        ending_text = f"it ended as {event_audit.closing.outcome}" if event_audit.closing else "it has not ended"
        yield self._make_line("order", f"every event may stand where it stands; {ending_text}")
        n_unpredicted = event_audit.n_announced - event_audit.n_predicted
        unpredicted_text = f"; {n_unpredicted:,} without one, for a reason" if n_unpredicted else ""
        imported_text = f"{_format_count(event_audit.n_imported, 'line')} of a recording; " if event_audit.n_imported else ""
        intents_text = (
            f"{imported_text}{_format_count(event_audit.n_announced, 'action')} announced before what came of "
            f"it, {event_audit.n_predicted:,} with a prediction{unpredicted_text}"
        )
        yield self._make_line("intents", intents_text)
        is_unchecked = hypothesis_audit.choices and not self.strict
        unchecked_text = (
            f"; {_format_count(hypothesis_audit.choices, 'choice')} by what members foresee not looked at without --strict"
            if is_unchecked
            else ""
        )
        yield self._make_line(
            "plans",
            f"{_format_count(hypothesis_audit.plans, 'plan')}, each of a version that was admissible; "
            f"{hypothesis_audit.n_draws:,} drawn, and kept to{unchecked_text}",
        )
        yield self._make_line(
            "predictions",
            f"{event_audit.n_compared:,} compared again; {_format_count(hypothesis_audit.n_mismatches, 'fall')}, told "
            f"where it happened",
        )
        accepted_text = _format_count(hypothesis_audit.accepted_versions, "accepted version")
        yield self._make_line(
            "verdicts", f"{_format_count(hypothesis_audit.n_proposals, 'proposal')}, {accepted_text}, by the rules of the gate"
        )
        unlike_text = (
            f"; {_format_count(event_audit.n_unlike_starts, 'level')} did not always begin alike"
            if event_audit.n_unlike_starts
            else ""
        )
        trajectories_text = "one trajectory" if len(event_audit.record) == 1 else f"{len(event_audit.record):,} trajectories"
        history_text = "without a contradiction: one history has one outcome"
        if event_audit.n_contradictions and event_audit.protocol.allows_open:
            history_text = (
                f"in which {_format_count(event_audit.n_contradictions, 'step')} led elsewhere than the same history before"
            )
        yield self._make_line("record", f"{trajectories_text} {history_text}{unlike_text}")
        yield self._check_counts()
        yield self._check_world()
        yield self._check_programs()

    def _check_settings(self) -> None:
        try:
            configured, recorded = asdict(self.folder.load_config()), self.event_audit.run.values
        except UsageError as error:
            self.findings.append(Finding("settings", 0, f"cannot be compared: {error}"))
            return
        changed = [name for name, value in configured.items() if not name.startswith("max_") and recorded.get(name, value) != value]
        if changed:
            self.findings.append(Finding("settings", 0, f"has other settings than {self.folder.toml.name} ({', '.join(changed)})"))

    def _check_fold(self) -> None:
        """What plays and resumes runs must read the same out of this ledger."""
        audited, last_seq = self.event_audit.hypothesis_audit, self.event_audit.n_events - 1
        try:
            state = fold_events(self.ledger)
        except (LawbookError, LookupError, TypeError, ValueError) as error:
            self.findings.append(Finding("order", last_seq, f"is the last that can be followed: {error}"))
            return
        folded = [(m.version, m.admissible, m.hypothesis) for m in state.members]
        if (
            folded != [(m.version, m.admissible, m.hypothesis) for m in audited.members]
            or state.accepted_versions != audited.accepted_versions
        ):
            self.findings.append(
                Finding("verdicts", last_seq, "is the last, and by then a resumed run would believe something else")
            )

    def _check_counts(self) -> AuditLine:
        """Every action costs one, a restart of the whole game aside, which opens another play: so the scorecard counts."""
        event_audit = self.event_audit
        last_seq, n_actions = (
            event_audit.n_events - 1,
            event_audit.record.n_actions + (event_audit.intent is not None and event_audit.closing is not None),
        )
        try:
            plays, cost = count_run(self.ledger)[0].billed
        except (LawbookError, LookupError, TypeError, ValueError) as error:
            self.findings.append(Finding("counts", last_seq, f"is the last, and nothing can be counted ({error})"))
            return self._make_line("counts", "")
        if cost + plays - 1 != n_actions:
            self.findings.append(
                Finding("counts", last_seq, f"is the last: {n_actions:,} actions on record, {cost:,} in {plays:,} plays")
            )
        scorecard = fetch_billed(event_audit) if self.strict else None
        if scorecard is not None and scorecard != (plays, cost):
            self.findings.append(
                Finding("counts", last_seq, f"is the last: {(plays, cost)} plays and actions, the scorecard says {scorecard}")
            )
        card_text = "; the scorecard says the same" if scorecard else ""
        return self._make_line(
            "counts",
            f"{n_actions:,} of {event_audit.run.budget:,} actions, {cost:,} billed in {_format_count(plays, 'play')}{card_text}",
        )

    def _check_world(self) -> AuditLine:
        if not self.strict:
            return AuditLine("world", None, "not played again; --strict does")
        try:
            ok, says = replay_world(self.event_audit)
        except (LookupError, TypeError, ValueError) as error:
            ok, says = False, f"its observations cannot be read ({error})"
        return AuditLine("world", ok, says)

    def _check_programs(self) -> AuditLine:
        hypothesis_audit = self.event_audit.hypothesis_audit
        counts_text = (
            f"{_format_count(hypothesis_audit.lifetimes, 'version')}, "
            f"{_format_count(hypothesis_audit.refusals, 'refusal')} and {_format_count(hypothesis_audit.plans, 'plan')}"
        )
        if not self.strict:
            return AuditLine("programs", None, f"{counts_text} not run again; --strict does")
        try:
            memory_mb = self.consent.choose_memory(self.event_audit.run.memory_mb)
            with Host(weak=self.consent.weak, memory_mb=memory_mb) as host:
                reexecution = Reexecution(self.event_audit, host)
                self.findings += reexecution.find_differences()
        except (HostError, LookupError, TypeError, ValueError) as error:
            return AuditLine("programs", False, f"they could not be run again ({error})")
        choices_text = (
            f", {_format_count(hypothesis_audit.choices, 'choice')} by what members foresee" if hypothesis_audit.choices else ""
        )
        cut_text = f" ({reexecution.n_cut:,} not to the end here)" if reexecution.n_cut else ""
        searched_text = f"; {reexecution.n_searched:,} searched for again, none shorter{cut_text}" if reexecution.n_searched else ""
        return self._make_line(
            "programs", f"{counts_text}{choices_text}: run again, they come out as they are on record{searched_text}"
        )

    def _check_memory(self) -> AuditLine:
        accepted = self.event_audit.hypothesis_audit.accepted_versions
        try:
            difference = GitVersions(self.folder.memory).describe_difference(accepted)
        except (LawbookError, OSError) as error:
            difference = f"it cannot be read ({error})"
        return AuditLine(
            "memory", difference is None, difference or f"git holds {_format_count(accepted, 'accepted version')}, and nothing else"
        )

    # -- how it was made -----------------------------------------------------------------------------------------------------

    def _check_sandbox(self) -> AuditLine:
        event_audit = self.event_audit
        sandboxes = [opening.sandbox for opening in event_audit.openings.values() if opening.sandbox and opening.sandbox.level]
        for seq, opening in event_audit.openings.items():
            if opening.sandbox and (problem := _find_sandbox_problem(opening.sandbox, event_audit.run.weak_sandbox)):
                self.findings.append(Finding("sandbox", seq, problem))
        if not sandboxes:
            if event_audit.hypothesis_audit.lifetimes or event_audit.hypothesis_audit.refusals:
                self.findings.append(Finding("sandbox", max(event_audit.openings), "tells of no sandbox, and programs were run"))
            return self._make_line("sandbox", "no program was ever run", None)
        levels = list(dict.fromkeys(sandbox.level for sandbox in sandboxes))
        facts = ", ".join(
            f"{name} {value}" for name, value in (sandboxes[-1].facts or {}).items() if name in ("landlock", "seccomp", "memory")
        )
        weak = "; --weak-sandbox was given" if event_audit.run.weak_sandbox else ""
        agents = f"; agents confined by {', '.join(dict.fromkeys(event_audit.confinements))}" if event_audit.confinements else ""
        return self._make_line("sandbox", f"{', '.join(levels)} ({facts}){weak}{agents}", True if levels == ["full"] else None)

    def _describe_help(self) -> AuditLine:
        n_person_notes = self.event_audit.n_person_notes
        return AuditLine(
            "help",
            True,
            f"a person spoke {_format_times(n_person_notes)}: an assisted run"
            if n_person_notes
            else "nobody spoke to it: not assisted",
        )

    def _describe_origin(self) -> AuditLine:
        facts = self._collect_facts()
        prompts = f"; prompts {', '.join(facts['prompts'])}" if facts["prompts"] else ""
        packages = ", ".join(f"{name} {number}" for name, number in facts["versions"][-1].items())
        other_versions = (
            f"; begun with other versions than it was resumed with ({len(facts['versions'])})" if len(facts["versions"]) > 1 else ""
        )
        origin = f"{facts['mind']} under {facts['protocol']}, seed {facts['seed']}, hash seeds {facts['hash_seeds']}"
        return AuditLine("made", True, f"{origin}{prompts}; {packages}{other_versions}")

    def _collect_facts(self) -> dict[str, Any]:
        event_audit = self.event_audit
        if not event_audit.openings:
            return {}
        versions: list[Mapping[str, str]] = []
        for opening in event_audit.openings.values():
            if opening.versions is not None and opening.versions not in versions:
                versions.append(opening.versions)
        sandbox = event_audit.last_opening.sandbox
        sandbox_facts = sandbox.facts if sandbox and sandbox.facts else {}
        prompts = (receipt["prompt"] for receipt in event_audit.receipts if isinstance(receipt.get("prompt"), str))
        return {
            "world": event_audit.run.world,
            "mind": event_audit.run.mind,
            "protocol": event_audit.run.protocol,
            "seed": event_audit.run.seed,
            "hash_seeds": sandbox_facts.get("hash seeds", "none"),
            "prompts": sorted(set(prompts)),
            "versions": versions,
            "sandbox": {"level": sandbox.level if sandbox else "", "facts": sandbox_facts},
            "confinement": event_audit.confinements,
            "assisted": event_audit.n_person_notes > 0,
            "resumed": len(event_audit.openings) - 1,
            "actions": event_audit.record.n_actions,
            "outcome": event_audit.closing.outcome if event_audit.closing else None,
            "calls": sum(1 for _ in self.ledger.read_events([EventKind.CALL])),
        }


def _find_sandbox_problem(sandbox: RecordedSandbox, weak: bool) -> str:
    """What is wrong with a sandbox as an opening tells of it; empty where nothing is. weak: less than a run needs was asked for."""
    report = SandboxReport.from_facts(sandbox.facts or {})
    if not sandbox.level:
        return ""
    if sandbox.level != report.level:
        return f"calls a sandbox {sandbox.level} that was found {report.level}"
    if not weak and not report.is_confining:
        return "ran programs in a sandbox that does not keep them from files and network, and --weak-sandbox was not given"
    return ""


def _format_count(number: int | Sized, noun: str) -> str:
    number = number if isinstance(number, int) else len(number)
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def _format_times(number: int) -> str:
    return "once" if number == 1 else f"{number:,} times"
