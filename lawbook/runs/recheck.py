"""`verify`: a run's final hypotheses against its record, from the ledger alone, with no world and no mind."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from lawbook.core.hypothesis import Hypothesis, misshapen
from lawbook.core.record import Record
from lawbook.core.results import Fault, Outcome, Verdict
from lawbook.errors import UsageError
from lawbook.ledger.ledger import Ledger
from lawbook.protocols.protocol import find_protocol
from lawbook.runs.state import Member, fold
from lawbook.sandbox.host import Host
from lawbook.verification.replay import verify


@dataclass(frozen=True)
class Checked:
    """broken: why the chain of the ledger does not hold, None when it does. verdicts: one for each member, None where nothing
    admissible stood at the end. needed: the protocol asks for a hypothesis. steps: on record. head: the ledger's last hash."""

    broken: str | None
    verdicts: tuple[Verdict | None, ...]
    needed: bool
    steps: int
    head: str
    fallen: tuple[str, ...] = ()
    """For each member why nothing of it stands, empty where something does."""

    @property
    def holds(self) -> bool:
        """The chain holds, everything that stands verifies, and where hypotheses are needed something stands."""
        found = [verdict for verdict in self.verdicts if verdict is not None]
        return self.broken is None and all(v.admissible for v in found) and (bool(found) or not self.needed)


def program_in(folder: Path) -> dict[str, str]:
    """The modules in a folder, as files of a program. Raises UsageError when there is none that defines the contract."""
    try:
        files = {path.name: path.read_text(encoding="utf-8") for path in sorted(folder.glob("*.py"))}
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"The program in {folder} cannot be read ({error}); mend the file or name another folder.") from error
    refusal = misshapen(Hypothesis("", files))
    if refusal:
        raise UsageError(f"{folder}: {refusal}")
    return files


def check(ledger: Ledger, *, files: Mapping[str, str] | None = None, weak: bool = False, memory_mb: int = 512) -> Checked:
    """Check the chain, fold the ledger, replay each final admissible program (or the one in `files`) in a fresh host.

    Raises UsageError and HostError.
    """
    broken = ledger.check()
    if broken is not None:
        return Checked(broken, (), True, 0, ledger.head)
    opening = next(ledger.events())
    rules = find_protocol(opening.body["run"]["protocol"])
    state = fold(ledger)
    verdicts: list[Verdict | None] = []
    standing = [Hypothesis("", files)] if files else [m.hypothesis if m.admissible else None for m in state.members]
    if any(standing):
        with Host(weak=weak, memory_mb=memory_mb) as host:
            for hypothesis in standing:
                program = host.load(hypothesis.files) if hypothesis else None
                match program:
                    case None:
                        verdicts.append(None)
                    case Fault():
                        verdicts.append(Verdict(Outcome.FAULT, program.reason, fault=program))
                    case _:
                        verdicts.append(verify(program, state.record, compares=rules.compares))
    else:
        verdicts = [None] * len(standing)
    steps = sum(len(trajectory) for trajectory in state.record)
    reasons = () if files else tuple(fallen(member, state.record) for member in state.members)
    return Checked(None, tuple(verdicts), rules.needs_hypothesis, steps, ledger.head, reasons)


def fallen(member: Member, record: Record) -> str:
    """Why nothing of this member stands; empty where something does."""
    if member.admissible:
        return ""
    if member.hypothesis is None:
        return "nothing admissible stood at the end, for nothing was ever accepted"
    example = member.verdict.counterexample if member.verdict and not member.rounds else None
    last = max(((number, len(trajectory)) for number, trajectory in enumerate(record) if len(trajectory)), default=(0, 0))
    if example is None or (example.trajectory, example.step) != last:
        return f"version {member.version} was refuted, and nothing was accepted after it"
    return f"the last step refuted version {member.version}"
