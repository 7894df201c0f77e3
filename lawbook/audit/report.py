"""The audit of a run: does its ledger tell the truth? A few lines, each of which holds, does not, or could not be looked at."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sized
from dataclasses import asdict, dataclass
from typing import Any

from lawbook.audit.event_checker import Finding, Trail
from lawbook.audit.reexecution import Rerun, billed, world_parted
from lawbook.errors import HostError, LawbookError, UsageError
from lawbook.ledger.git_versions import GitMemory
from lawbook.ledger.ledger import Kind, Ledger
from lawbook.runs.folder import RunFolder
from lawbook.runs.state import fold
from lawbook.sandbox.confinement import SandboxReport
from lawbook.sandbox.host import Host
from lawbook.scoring.billing import counting

_PUBLISHED = re.compile(rb"head <code>([0-9a-f]{64})</code>")


@dataclass(frozen=True)
class Line:
    """One line of an audit. ok: it holds; False: it does not; None: there was nothing to hold it against."""

    name: str
    ok: bool | None
    says: str


@dataclass(frozen=True)
class Audit:
    """What an audit found. head: of the ledger, to be compared with the one that was published. facts: how the run was made."""

    lines: tuple[Line, ...]
    findings: tuple[Finding, ...]
    head: str
    events: int
    strict: bool
    facts: Mapping[str, Any]

    @property
    def holds(self) -> bool:
        return all(line.ok is not False for line in self.lines)

    def json(self) -> dict[str, Any]:
        return {
            "holds": self.holds,
            "strict": self.strict,
            "head": self.head,
            "events": self.events,
            "lines": {line.name: {"ok": line.ok, "says": line.says} for line in self.lines},
            "findings": [asdict(finding) for finding in self.findings],
            **self.facts,
        }


def audit(folder: RunFolder, *, strict: bool = False, head: str = "") -> Audit:
    """Audit a run from its folder. Changes nothing there.

    strict: run every version and plan again, and play the world again. head: the published head, where the report is not to be
    believed. Raises UsageError where there is no ledger that could be read.
    """
    with Ledger.open(folder.ledger, readonly=True) as ledger:
        return _Auditor(folder, ledger, strict, head.strip().lower()).audit()


def mend(folder: RunFolder) -> None:
    """Make the git memory of a run anew from its ledger. Raises UsageError while the run is being played, or has no ledger."""
    with Ledger.open(folder.ledger) as ledger:
        GitMemory.rebuild(folder.memory, fold(ledger).accepted)


class _Auditor:
    def __init__(self, folder: RunFolder, ledger: Ledger, strict: bool, head: str) -> None:
        self.folder, self.ledger, self.strict, self.published = folder, ledger, strict, head
        self.trail = Trail(ledger)
        self.findings = list(self.trail.findings)

    def audit(self) -> Audit:
        lines = [self._chain(), self._head()]
        if self.trail.openings:
            lines += [*self._told(), self._memory(), self._sandbox(), self._help(), self._made()]
        else:
            lines.append(self._line("order", ""))
        return Audit(tuple(lines), tuple(self.findings), self.ledger.head, self.trail.events, self.strict, self._facts())

    def _line(self, name: str, says: str, ok: bool | None = True) -> Line:
        """A line that holds unless something was found; then the first of it, and how much more."""
        found = [finding for finding in self.findings if finding.line == name]
        if not found:
            return Line(name, ok, says)
        more = f" (and {len(found) - 1:,} more)" if len(found) > 1 else ""
        return Line(name, False, f"{found[0]}{more}")

    # -- the file ------------------------------------------------------------------------------------------------------------

    def _chain(self) -> Line:
        broken = self.ledger.check()
        return Line("chain", broken is None, broken or f"each of {self.trail.events:,} events follows from the one before it")

    def _head(self) -> Line:
        """A published head must be in the chain: what came before it is then as it was, and nothing of that was cut off."""
        where, published = "as given", self.published
        if not published:
            where = f"in {self.folder.report.name}"
            try:
                found = _PUBLISHED.search(self.folder.report.read_bytes())
            except OSError:
                found = None
            published = found[1].decode() if found else ""
        if not published:
            return self._line("head", "published nowhere here; compare what was printed at the end with the head below", None)
        seq = next((event.seq for event in self.ledger if event.hash == published), None)
        if seq is None:
            return Line(
                "head", False, f"the head {where} ({published[:16]}...) is not in this ledger: it was cut off, or rewritten"
            )
        since = self.trail.events - 1 - seq
        return self._line("head", f"{where}, it is that of the last event" if not since else f"{where}, it is {since:,} events old")

    # -- what it tells -------------------------------------------------------------------------------------------------------

    def _told(self) -> Iterator[Line]:
        t = self.trail
        b = t.beliefs
        self._settings()
        again = f", resumed {_times(len(t.openings) - 1)}" if len(t.openings) > 1 else ""
        yield self._line("settings", f"{self.folder.toml.name} asks for what the ledger says was asked for{again}")
        self._folded()
        ended = f"it ended as {t.closed.body['outcome']}" if t.closed else "it has not ended"
        yield self._line("order", f"every event may stand where it stands; {ended}")
        unpredicted = t.announced - t.predicted
        without = f"; {unpredicted:,} without one, for a reason" if unpredicted else ""
        came = f"{_many(t.imported, 'line')} of a recording; " if t.imported else ""
        said = f"{came}{_many(t.announced, 'action')} announced before what came of it, {t.predicted:,} with a prediction{without}"
        yield self._line("intents", said)
        unseen = b.chosen and not self.strict
        which = f"; {_many(b.chosen, 'choice')} by what members foresee not looked at without --strict" if unseen else ""
        yield self._line(
            "plans", f"{_many(b.plans, 'plan')}, each of a version that was admissible; {b.draws:,} drawn, and kept to{which}"
        )
        yield self._line("predictions", f"{t.compared:,} compared again; {_many(b.falls, 'fall')}, told where it happened")
        accepted = _many(b.accepted, "accepted version")
        yield self._line("verdicts", f"{_many(b.proposals, 'proposal')}, {accepted}, by the rules of the gate")
        unlike = f"; {_many(t.unlike, 'level')} did not always begin alike" if t.unlike else ""
        trajectories = "one trajectory" if len(t.record) == 1 else f"{len(t.record):,} trajectories"
        yield self._line("record", f"{trajectories} without a contradiction: one history has one outcome{unlike}")
        yield self._counts()
        yield self._world()
        yield self._programs()

    def _settings(self) -> None:
        try:
            asked, told = asdict(self.folder.config()), self.trail.run
        except UsageError as error:
            self.findings.append(Finding("settings", 0, f"cannot be compared: {error}"))
            return
        changed = [name for name, value in asked.items() if not name.startswith("max_") and told.get(name, value) != value]
        if changed:
            self.findings.append(Finding("settings", 0, f"has other settings than {self.folder.toml.name} ({', '.join(changed)})"))

    def _folded(self) -> None:
        """What plays and resumes runs must read the same out of this ledger."""
        mine, last = self.trail.beliefs, self.trail.events - 1
        try:
            state = fold(self.ledger)
        except (LawbookError, LookupError, TypeError, ValueError) as error:
            self.findings.append(Finding("order", last, f"is the last that can be followed: {error}"))
            return
        theirs = [(m.version, m.admissible, m.hypothesis) for m in state.members]
        if theirs != [(m.version, m.admissible, m.hypothesis) for m in mine.members] or state.accepted != mine.accepted:
            self.findings.append(Finding("verdicts", last, "is the last, and by then a resumed run would believe something else"))

    def _counts(self) -> Line:
        """Every action costs one, a restart of the whole game aside, which opens another play: so the scorecard counts."""
        t = self.trail
        last, sent = t.events - 1, t.record.actions + (t.intent is not None and t.closed is not None)
        try:
            plays, cost = counting(self.ledger)[0].billed
        except (LawbookError, LookupError, TypeError, ValueError) as error:
            self.findings.append(Finding("counts", last, f"is the last, and nothing can be counted ({error})"))
            return self._line("counts", "")
        if cost + plays - 1 != sent:
            self.findings.append(Finding("counts", last, f"is the last: {sent:,} actions on record, {cost:,} in {plays:,} plays"))
        said = billed(t) if self.strict else None
        if said is not None and said != (plays, cost):
            self.findings.append(
                Finding("counts", last, f"is the last: {(plays, cost)} plays and actions, the scorecard says {said}")
            )
        card = "; the scorecard says the same" if said else ""
        return self._line("counts", f"{sent:,} of {t.run['budget']:,} actions, {cost:,} billed in {_many(plays, 'play')}{card}")

    def _world(self) -> Line:
        if not self.strict:
            return Line("world", None, "not played again; --strict does")
        try:
            ok, says = world_parted(self.trail)
        except (LookupError, TypeError, ValueError) as error:
            ok, says = False, f"its observations cannot be read ({error})"
        return Line("world", ok, says)

    def _programs(self) -> Line:
        b = self.trail.beliefs
        runs = f"{_many(b.lives, 'version')}, {_many(b.refusals, 'refusal')} and {_many(b.plans, 'plan')}"
        if not self.strict:
            return Line("programs", None, f"{runs} not run again; --strict does")
        try:
            with Host(weak=bool(self.trail.run["weak_sandbox"]), memory_mb=self.trail.run["memory_mb"]) as host:
                again = Rerun(self.trail, host)
                self.findings += again.findings()
        except (HostError, LookupError, TypeError, ValueError) as error:
            return Line("programs", False, f"they could not be run again ({error})")
        foreseen = f", {_many(b.chosen, 'choice')} by what members foresee" if b.chosen else ""
        late = f" ({again.cut:,} not to the end here)" if again.cut else ""
        searched = f"; {again.searched:,} searched for again, none shorter{late}" if again.searched else ""
        return self._line("programs", f"{runs}{foreseen}: run again, they come out as they are on record{searched}")

    def _memory(self) -> Line:
        accepted = self.trail.beliefs.accepted
        try:
            differs = GitMemory(self.folder.memory).differs(accepted)
        except (LawbookError, OSError) as error:
            differs = f"it cannot be read ({error})"
        return Line("memory", differs is None, differs or f"git holds {_many(accepted, 'accepted version')}, and nothing else")

    # -- how it was made -----------------------------------------------------------------------------------------------------

    def _sandbox(self) -> Line:
        t = self.trail
        boxes = [opening.body["sandbox"] for opening in t.openings if opening.body["sandbox"]["level"]]
        for opening in t.openings:
            if said := _loose(opening.body["sandbox"], bool(t.run["weak_sandbox"])):
                self.findings.append(Finding("sandbox", opening.seq, said))
        if not boxes:
            if t.beliefs.lives or t.beliefs.refusals:
                self.findings.append(Finding("sandbox", t.openings[-1].seq, "tells of no sandbox, and programs were run"))
            return self._line("sandbox", "no program was ever run", None)
        levels = list(dict.fromkeys(box["level"] for box in boxes))
        facts = ", ".join(
            f"{name} {what}" for name, what in boxes[-1]["facts"].items() if name in ("landlock", "seccomp", "memory")
        )
        weak = "; --weak-sandbox was given" if t.run["weak_sandbox"] else ""
        agents = f"; agents confined by {', '.join(dict.fromkeys(t.confined))}" if t.confined else ""
        return self._line("sandbox", f"{', '.join(levels)} ({facts}){weak}{agents}", True if levels == ["full"] else None)

    def _help(self) -> Line:
        said = self.trail.said
        return Line("help", True, f"a person spoke {_times(said)}: an assisted run" if said else "nobody spoke to it: not assisted")

    def _made(self) -> Line:
        facts = self._facts()
        prompts = f"; prompts {', '.join(facts['prompts'])}" if facts["prompts"] else ""
        packages = ", ".join(f"{name} {number}" for name, number in facts["versions"][-1].items())
        other = (
            f"; begun with other versions than it was resumed with ({len(facts['versions'])})" if len(facts["versions"]) > 1 else ""
        )
        who = f"{facts['mind']} under {facts['protocol']}, seed {facts['seed']}, hash seeds {facts['hash_seeds']}"
        return Line("made", True, f"{who}{prompts}; {packages}{other}")

    def _facts(self) -> dict[str, Any]:
        t = self.trail
        if not t.openings:
            return {}
        versions: list[dict[str, str]] = []
        for opening in t.openings:
            if opening.body["versions"] not in versions:
                versions.append(opening.body["versions"])
        prompts = (receipt["prompt"] for receipt in t.receipts if isinstance(receipt.get("prompt"), str))
        return {
            "world": t.run["world"],
            "mind": t.run["mind"],
            "protocol": t.run["protocol"],
            "seed": t.run["seed"],
            "hash_seeds": t.openings[-1].body["sandbox"]["facts"].get("hash seeds", "none"),
            "prompts": sorted(set(prompts)),
            "versions": versions,
            "sandbox": t.openings[-1].body["sandbox"],
            "confinement": t.confined,
            "assisted": t.said > 0,
            "resumed": len(t.openings) - 1,
            "actions": t.record.actions,
            "outcome": t.closed.body["outcome"] if t.closed else None,
            "calls": sum(1 for _ in self.ledger.events([Kind.CALL])),
        }


def _loose(box: Mapping[str, Any], weak: bool) -> str:
    """What is wrong with a sandbox as an opening tells of it; empty where nothing is. weak: less than a run needs was asked for."""
    report = SandboxReport.of(box["facts"])
    if not box["level"]:
        return ""
    if box["level"] != report.level:
        return f"calls a sandbox {box['level']} that was found {report.level}"
    if not weak and not report.confines:
        return "ran programs in a sandbox that does not keep them from files and network, and --weak-sandbox was not given"
    return ""


def _many(number: int | Sized, noun: str) -> str:
    number = number if isinstance(number, int) else len(number)
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def _times(number: int) -> str:
    return "once" if number == 1 else f"{number:,} times"
