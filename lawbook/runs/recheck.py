"""`verify`: a run's final hypotheses against its record, from the ledger alone, with no world and no mind."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from lawbook.core.hypothesis import Hypothesis, validate_files
from lawbook.core.record import Record
from lawbook.core.results import ProgramError, Verdict, VerdictKind
from lawbook.errors import UsageError
from lawbook.ledger.events import OpenEvent
from lawbook.ledger.ledger import Ledger
from lawbook.protocols.protocol import get_protocol
from lawbook.runs.state import Member, fold_events
from lawbook.sandbox.host import Host
from lawbook.verification.replay import verify


@dataclass(frozen=True)
class RecheckReport:
    """chain_error: why the chain of the ledger does not hold, None when it does. verdicts: one for each member, None where nothing
    admissible stood at the end. needs_hypothesis: the protocol asks for a hypothesis. n_steps: on record. head: the ledger's last
    hash."""

    chain_error: str | None
    verdicts: tuple[Verdict | None, ...]
    needs_hypothesis: bool
    n_steps: int
    head: str
    fall_reasons: tuple[str, ...] = ()
    """For each member why nothing of it stands, empty where something does."""

    @property
    def holds(self) -> bool:
        """The chain holds, everything that stands verifies, and where hypotheses are needed something stands."""
        present_verdicts = [verdict for verdict in self.verdicts if verdict is not None]
        return (
            self.chain_error is None
            and all(v.admissible for v in present_verdicts)
            and (bool(present_verdicts) or not self.needs_hypothesis)
        )


def load_program_files(folder: Path) -> dict[str, str]:
    """Load the modules in a folder as files of a program. Raises UsageError when there is none that defines the contract."""
    try:
        files = {path.name: path.read_text(encoding="utf-8") for path in sorted(folder.glob("*.py"))}
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"The program in {folder} cannot be read ({error}); mend the file or name another folder.") from error
    refusal = validate_files(Hypothesis("", files))
    if refusal:
        raise UsageError(f"{folder}: {refusal}")
    return files


def recheck_run(
    ledger: Ledger, *, files: Mapping[str, str] | None = None, weak: bool = False, memory_mb: int = 512
) -> RecheckReport:
    """Check the chain, fold the ledger, replay each final admissible program (or the one in `files`) in a fresh host.

    Raises UsageError and HostError.
    """
    chain_error = ledger.check()
    if chain_error is not None:
        return RecheckReport(chain_error, (), True, 0, ledger.head)
    protocol = get_protocol(next(ledger.read_data(OpenEvent)).run.protocol)
    state = fold_events(ledger)
    verdicts: list[Verdict | None] = []
    hypotheses = [Hypothesis("", files)] if files else [m.hypothesis if m.admissible else None for m in state.members]
    if any(hypotheses):
        with Host(weak=weak, memory_mb=memory_mb) as host:
            for hypothesis in hypotheses:
                program = host.load(hypothesis.files, protocol.find_open_rules(hypothesis.rulebook)) if hypothesis else None
                match program:
                    case None:
                        verdicts.append(None)
                    case ProgramError():
                        verdicts.append(Verdict(VerdictKind.FAULT, program.reason, fault=program))
                    case _:
                        # what stands was held to its claims without looking when it was accepted, on the record of then
                        fields, looks_away = protocol.compared_fields, bool(files)
                        verdicts.append(
                            verify(program, state.record, compared_fields=fields, seed=ledger.head, looks_away=looks_away)
                        )
    else:
        verdicts = [None] * len(hypotheses)
    n_steps = sum(len(trajectory) for trajectory in state.record)
    reasons = () if files else tuple(explain_fall(member, state.record) for member in state.members)
    return RecheckReport(None, tuple(verdicts), protocol.needs_hypothesis, n_steps, ledger.head, reasons)


def explain_fall(member: Member, record: Record) -> str:
    """Say why nothing of this member stands; empty where something does."""
    if member.admissible:
        return ""
    if member.hypothesis is None:
        return "nothing admissible stood at the end, for nothing was ever accepted"
    counterexample = member.verdict.counterexample if member.verdict and not member.n_refusals else None
    last_position = max(((number, len(trajectory)) for number, trajectory in enumerate(record) if len(trajectory)), default=(0, 0))
    if counterexample is None or (counterexample.trajectory, counterexample.step) != last_position:
        return f"version {member.version} was refuted, and nothing was accepted after it"
    return f"the last step refuted version {member.version}"
