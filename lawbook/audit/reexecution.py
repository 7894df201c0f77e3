"""What a strict audit does again: every version on the record as it stood, every plan rolled, the world played from its start."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from lawbook.audit.event_checker import Finding, Trail
from lawbook.audit.hypothesis_checker import Chosen, Life, Place, Planned, Refusal
from lawbook.core.hypothesis import Hypothesis
from lawbook.core.record import Action, Record, Trajectory
from lawbook.core.results import Fault, Limits, NoPlan, Outcome, Plan
from lawbook.errors import LawbookError
from lawbook.ledger.codec import recorded
from lawbook.planning.disagreement import question, ways
from lawbook.planning.live_prediction import patiently
from lawbook.planning.planner import find_plan, roll
from lawbook.planning.population import disputed
from lawbook.protocols.gate import refuses_end
from lawbook.sandbox.host import Host, Program
from lawbook.verification.replay import verify
from lawbook.worlds.address import WorldAddress, world_environment
from lawbook.worlds.process import WorldProcess
from lawbook.worlds.recorded_world import parted

_WHERE_AND_WHEN = ("killed", "time", "memory")
"""Kinds of fault that another machine, or the same one at another time, need not show again."""
_CUT_HERE = ("seconds", "memory")
_SEARCH_SECONDS = 60.0


class Rerun:
    """The programs of a trail, run again in `host`. findings(): what does not come out as it is on record.

    searched: plans that were searched for again, since they claim to be shortest; cut: those of them for which time or memory ran
    out here.
    """

    def __init__(self, trail: Trail, host: Host) -> None:
        self.trail, self.host = trail, host
        self.searched = self.cut = 0
        self._programs: dict[tuple[tuple[str, str], ...], Program | Fault] = {}
        self._shortest: dict[tuple[int, int, Place, str | None, tuple[Action, ...]], str] = {}

    def findings(self) -> Iterator[Finding]:
        beliefs = self.trail.beliefs
        for life in beliefs.lives:
            if said := self._lived(life):
                yield Finding("programs", life.accepted, f"accepted version {life.version} of member {life.member}, {said}")
        for refusal in beliefs.refusals:
            if said := self._refused(refusal):
                yield Finding("programs", refusal.seq, said)
        for plan in beliefs.plans:
            if said := self._planned(plan):
                yield Finding("programs", plan.seq, said)
        for chosen in beliefs.chosen:
            if said := self._parted(chosen) and self._parted(chosen):  # again: where programs are late, members part otherwise
                yield Finding("programs", chosen.seq, said)

    def _lived(self, life: Life) -> str:
        """It must reproduce everything up to where it fell, and fall there as it is on record to have fallen."""
        program = self._load(life.hypothesis)
        if isinstance(program, Fault):
            return f"which does not load: {program.reason}"
        record, compares = self._until(life.until), self.trail.rules.compares
        if len(record):
            verdict = patiently(verify, program, record, compares=compares)
            if not verdict.admissible:
                return f"which is refuted by the record while it stood: {verdict.reason}"
        return self._fell(program, life) if life.fatal else ""

    def _fell(self, program: Program, life: Life) -> str:
        assert life.fatal is not None
        index, step, frame, status = life.fatal
        trajectory = self.trail.record.trajectories[index]
        rolled = patiently(roll, program, Trajectory(trajectory.first), trajectory.actions[:step])
        if isinstance(rolled, Fault):
            return f"which fails where it is on record to have predicted: {rolled.reason}"
        shown = rolled[0][-1]
        if shown.status is not status or not np.array_equal(shown.frame, self.trail.ledger.frame(frame)):
            return f"which does not predict of trajectory {index}, step {step} what it is on record to have predicted"
        return ""

    def _refused(self, refusal: Refusal) -> str:
        """A proposal that its replay refused is refused again, at the same place; one that its judge refused is not."""
        verdict, example = refusal.verdict, refusal.verdict.counterexample
        if verdict.fault is not None and verdict.fault.kind in _WHERE_AND_WHEN:
            return ""
        program = self._load(refusal.hypothesis)
        if isinstance(program, Fault):
            return "" if verdict.outcome is Outcome.FAULT else f"refutes a program that does not even load: {program.reason}"
        due = Outcome.ADMISSIBLE if verdict.outcome is Outcome.UNFAITHFUL else verdict.outcome
        first = [example.trajectory] if example else []
        again = patiently(verify, program, self._until(refusal.at), first=first, compares=self.trail.rules.compares)
        now = again.counterexample
        same = example is None or (now is not None and (now.trajectory, now.step) == (example.trajectory, example.step))
        if again.outcome is not due or not same:
            return f"calls {verdict.outcome} what is {again.outcome} when it is replayed again"
        return ""

    def _planned(self, plan: Planned) -> str:
        """A plan, rolled by the version that made it, ends where it was to end, and shows on the way what it was to show."""
        if plan.hypothesis is None or not plan.actions:
            return ""
        program = self._load(plan.hypothesis)
        if isinstance(program, Fault):
            return f"is a plan of a program that does not load: {program.reason}"
        here = self._until(plan.at).here
        rolled = patiently(roll, program, here, plan.actions, plan.subgoal)
        if isinstance(rolled, Fault):
            return f"is a plan that its program cannot follow: {rolled.reason}"
        predictions, holds = rolled
        refusal = refuses_end([seen.status for seen in predictions], holds, "its target")
        if refusal and self.trail.rules.needs_hypothesis:
            return f"is a plan that does not hold: {refusal}"
        shown = [self.trail.ledger.frame(name) for name in plan.ahead]
        if shown and not all(np.array_equal(seen.frame, frame) for seen, frame in zip(predictions, shown, strict=True)):
            return "is a plan of which other frames were foretold than its program shows"
        return self._certified(plan, program) if plan.certified else ""

    def _certified(self, plan: Planned, program: Program) -> str:
        """The search for it, again: so many nodes must do, and no shorter way be found."""
        key = plan.member, plan.version, plan.at, plan.subgoal, plan.actions
        if key not in self._shortest:
            limits = Limits(nodes=plan.nodes, depth=len(plan.actions), seconds=_SEARCH_SECONDS)
            here, clicks = self._until(plan.at).here, self.trail.spec.clicks
            found = patiently(find_plan, program, here, limits, plan.subgoal, clicks)
            self._shortest[key] = self._shorter(plan, found)
        return self._shortest[key]

    def _shorter(self, plan: Planned, found: Plan | NoPlan | Fault) -> str:
        self.searched += 1
        late = found.kind in _WHERE_AND_WHEN if isinstance(found, Fault) else found.cut in _CUT_HERE
        if late:
            self.cut += 1
            return ""
        if not isinstance(found, Plan):
            return f"calls a plan the shortest that a search of {plan.nodes:,} states does not find: {found.reason}"
        if len(found.actions) != len(plan.actions) or not found.certified:
            sure = "the shortest" if found.certified else "not known to be the shortest"
            return f"calls {len(plan.actions)} actions the shortest plan; found again, it has {len(found.actions)} and is {sure}"
        return ""

    def _parted(self, chosen: Chosen) -> str:
        """What the policy `disagree` chose, chosen again: from what every member foresees of every plan (and action)."""
        programs: dict[int, Program] = {}
        for member, hypothesis in chosen.beliefs.items():
            program = self._load(hypothesis)
            if isinstance(program, Fault):
                return f"follows what members foresee, and the program of member {member} does not load: {program.reason}"
            programs[member] = program
        clicks = self.trail.spec.clicks if chosen.plan is None else None
        way = disputed(ways(programs, self._until(chosen.at).here, chosen.plans, clicks))
        if chosen.plan is not None:
            return "" if way.plan == chosen.plan else f"draws class {chosen.plan}, and members part most tellingly on {way.plan}"
        same = (way.actions, way.parts[0][0], question(way)) == ((chosen.action,), chosen.member, chosen.question)
        if way.plan is None and same:
            return ""
        return f"tries action {chosen.action} for what members dispute, and they part otherwise: {question(way)}"

    def _load(self, hypothesis: Hypothesis) -> Program | Fault:
        key = tuple(sorted(hypothesis.files.items()))
        if key not in self._programs:
            self._programs[key] = patiently(self.host.load, hypothesis.files)
        return self._programs[key]

    def _until(self, place: Place) -> Record:
        """The record as it stood: so many trajectories, so many steps of the last (below 0: not even its start)."""
        whole, (trajectories, steps) = self.trail.record, place
        record = Record(whole.levels)
        record.trajectories = whole.trajectories[: trajectories - 1]
        if steps >= 0:
            last = whole.trajectories[trajectories - 1]
            cut = Trajectory(last.first)
            for action, seen in last.steps[:steps]:
                cut.append(action, seen)
            record.trajectories.append(cut)
        return record


def world_parted(trail: Trail) -> tuple[bool | None, str]:
    """Play the world of a run from its start, as recorded. True: the same to the end; False: not; None: nobody can say."""
    spec = trail.openings[-1].body["spec"]
    if not spec["replayable"]:
        return None, "it is played on a server, which shows nothing twice"
    try:
        address = WorldAddress.parse(trail.run["world"])
        with WorldProcess(address, environment=world_environment(address)) as world:
            said = parted(world, recorded(trail.ledger))
    except LawbookError as error:
        return False, f"it cannot be played again: {error}"
    return (
        (True, f"played again, it shows the same to the last of {trail.record.actions:,} actions")
        if said is None
        else (False, said)
    )


def billed(trail: Trail) -> tuple[int, int] | None:
    """(plays, actions) that the scorecard of a world on a server holds of this run; None where there is none that says so."""
    spec, last = trail.openings[-1].body["spec"], trail.record.last
    if spec["replayable"] or not spec.get("ticket") or last is None:
        return None
    try:
        address = WorldAddress.parse(trail.run["world"])
        with WorldProcess(address, environment=world_environment(address, spec["ticket"])) as world:
            return world.rejoin(last)
    except LawbookError:
        return None
