"""What a strict audit does again: every version on the record as it stood, every plan rolled, the world played from its start."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from lawbook.audit.audited_hypotheses import (
    AuditedPlan,
    CountedClaims,
    DisagreementChoice,
    HypothesisLifetime,
    PlanRoll,
    RecordPosition,
    RefusedProposal,
)
from lawbook.audit.event_checker import EventAudit, Finding
from lawbook.core.hypothesis import Hypothesis
from lawbook.core.record import Record, Trajectory
from lawbook.core.results import Limits, NoPlan, Plan, ProgramError, VerdictKind
from lawbook.errors import LawbookError
from lawbook.ledger.contents import load_prediction, load_steps
from lawbook.planning.disagreement import find_disagreements, format_question
from lawbook.planning.live_prediction import retry_on_host_fault
from lawbook.planning.planner import find_plan, roll
from lawbook.planning.population import choose_disagreement
from lawbook.protocols.gate import explain_end_refusal, explain_plan_change
from lawbook.runs.acceptance import summarise_hypothesis_claims
from lawbook.sandbox.host import Host, Program
from lawbook.verification.replay import verify
from lawbook.worlds.address import WorldAddress, world_environment
from lawbook.worlds.process import WorldProcess
from lawbook.worlds.recorded_world import describe_replay_difference

_MACHINE_FAULT_KINDS = ("killed", "time", "memory")
"""Kinds of fault that another machine, or the same one at another time, need not show again."""
_MACHINE_CUTS = ("seconds", "memory")
_SEARCH_SECONDS = 60.0


class Reexecution:
    """The programs of a trail, run again in `host`. findings(): what does not come out as it is on record.

    n_searched: plans that were searched for again, since they claim to be shortest; n_cut: those of them for which time or memory
    ran out here.
    """

    def __init__(self, event_audit: EventAudit, host: Host) -> None:
        self.event_audit, self.host = event_audit, host
        self.n_searched = self.n_cut = 0
        self._programs: dict[tuple[object, ...], Program | ProgramError] = {}
        self._search_findings: dict[tuple[object, ...], str] = {}

    def find_differences(self) -> Iterator[Finding]:
        hypothesis_audit = self.event_audit.hypothesis_audit
        for lifetime in hypothesis_audit.lifetimes:
            if difference := self._check_lifetime(lifetime):
                yield Finding(
                    "programs", lifetime.accepted, f"accepted version {lifetime.version} of member {lifetime.member}, {difference}"
                )
        for refusal in hypothesis_audit.refusals:
            if difference := self._check_refusal(refusal):
                yield Finding("programs", refusal.seq, difference)
        for counted in hypothesis_audit.claim_counts:
            if difference := self._check_claims(counted):
                yield Finding("programs", counted.seq, difference)
        for plan in hypothesis_audit.plans:
            if difference := self._check_plan(plan):
                yield Finding("programs", plan.seq, difference)
        for plan_roll in hypothesis_audit.plan_rolls:
            if difference := self._check_plan_roll(plan_roll):
                yield Finding("programs", plan_roll.seq, difference)
        for choice in hypothesis_audit.choices:
            if difference := self._check_choice(choice) and self._check_choice(
                choice
            ):  # again: where programs are late, members part otherwise
                yield Finding("programs", choice.seq, difference)

    def _check_lifetime(self, lifetime: HypothesisLifetime) -> str:
        """It must reproduce everything up to where it fell, and fall there as it is on record to have fallen."""
        program = self._load_program(lifetime.hypothesis)
        if isinstance(program, ProgramError):
            return f"which does not load: {program.reason}"
        record, compared_fields = self._cut_record(lifetime.until), self.event_audit.protocol.compared_fields
        if len(record):
            verdict = retry_on_host_fault(verify, program, record, compared_fields=compared_fields, looks_away=False)
            if not verdict.admissible:
                return f"which is refuted by the record while it stood: {verdict.reason}"
        if program.has_update and lifetime.replayed is not None:
            position, seed = lifetime.replayed
            verdict = retry_on_host_fault(verify, program, self._cut_record(position), compared_fields=compared_fields, seed=seed)
            if not verdict.admissible:
                return f"which its own replay refutes when it is made again: {verdict.reason}"
        return self._check_mismatch(program, lifetime) if lifetime.fatal_prediction else ""

    def _check_mismatch(self, program: Program, lifetime: HypothesisLifetime) -> str:
        assert lifetime.fatal_prediction is not None
        index, step, recorded = lifetime.fatal_prediction
        trajectory = self.event_audit.record.trajectories[index]
        rollout = retry_on_host_fault(roll, program, _cut_trajectory(trajectory, step - 1), trajectory.actions[step - 1 : step])
        if isinstance(rollout, ProgramError):
            return f"which fails where it is on record to have predicted: {rollout.reason}"
        prediction = rollout[0][-1]
        if not prediction.is_same_as(load_prediction(self.event_audit.ledger, recorded)):
            return f"which does not predict of trajectory {index}, step {step} what it is on record to have predicted"
        return ""

    def _check_refusal(self, refusal: RefusedProposal) -> str:
        """A proposal that its replay refused is refused again, at the same place; one that its judge refused is not."""
        verdict, counterexample = refusal.verdict, refusal.verdict.counterexample
        if verdict.fault is not None and verdict.fault.kind in _MACHINE_FAULT_KINDS:
            return ""
        program = self._load_program(refusal.hypothesis)
        if isinstance(program, ProgramError):
            return "" if verdict.outcome is VerdictKind.FAULT else f"refutes a program that does not even load: {program.reason}"
        expected_kind = VerdictKind.ADMISSIBLE if verdict.outcome is VerdictKind.UNFAITHFUL else verdict.outcome
        first_trajectories = [counterexample.trajectory] if counterexample else []
        second_verdict = retry_on_host_fault(
            verify,
            program,
            self._cut_record(refusal.position),
            first=first_trajectories,
            compared_fields=self.event_audit.protocol.compared_fields,
            seed=refusal.seed,
        )
        second_counterexample = second_verdict.counterexample
        is_same_place = counterexample is None or (
            second_counterexample is not None
            and (second_counterexample.trajectory, second_counterexample.step) == (counterexample.trajectory, counterexample.step)
        )
        if second_verdict.outcome is not expected_kind or not is_same_place:
            return f"calls {verdict.outcome} what is {second_verdict.outcome} when it is replayed again"
        return ""

    def _check_claims(self, counted: CountedClaims) -> str:
        """What is claimed of the record, counted again."""
        claims = retry_on_host_fault(
            summarise_hypothesis_claims,
            self.host,
            self.event_audit.protocol,
            counted.hypothesis,
            counted.previous,
            self._cut_record(counted.position),
        )
        return "" if claims == counted.claims else f"counts claims as {counted.claims}, and counted again they are {claims}"

    def _check_plan(self, plan: AuditedPlan) -> str:
        """A plan, rolled by the version that made it, ends where it was to end, and shows on the way what it was to show."""
        if plan.hypothesis is None or not plan.actions:
            return ""
        program = self._load_program(plan.hypothesis)
        if isinstance(program, ProgramError):
            return f"is a plan of a program that does not load: {program.reason}"
        trajectory = self._cut_record(plan.position).current
        rollout = retry_on_host_fault(roll, program, trajectory, plan.actions, plan.subgoal)
        if isinstance(rollout, ProgramError):
            return f"is a plan that its program cannot follow: {rollout.reason}"
        predictions, holds = rollout
        refusal = explain_end_refusal(self.event_audit.protocol, predictions, holds, "its target", plan.subgoal is None)
        if refusal and self.event_audit.protocol.needs_hypothesis:
            return f"is a plan that does not hold: {refusal}"
        recorded_frames = [self.event_audit.ledger.get_frame(name) for name in plan.predicted_frames]
        if recorded_frames and not all(
            np.array_equal(prediction.frame, frame) for prediction, frame in zip(predictions, recorded_frames, strict=True)
        ):
            return "is a plan of which other frames were foretold than its program shows"
        return self._check_certificate(plan, program) if plan.certified else ""

    def _check_plan_roll(self, plan_roll: PlanRoll) -> str:
        """What is left of a plan, rolled from there with all that had been seen: it must have gone on, or ended, as it did."""
        plan = plan_roll.plan
        if plan.hypothesis is None:
            return ""
        program = self._load_program(plan.hypothesis)
        if isinstance(program, ProgramError):
            return f"goes on with a plan of a program that does not load: {program.reason}"
        trajectory = self._cut_record(plan_roll.position).current
        rollout = retry_on_host_fault(roll, program, trajectory, plan.executable.list_remaining(plan_roll.n_sent), plan.subgoal)
        if isinstance(rollout, ProgramError):
            is_ended = plan_roll.prediction is None and rollout.kind == "subgoal"
            return "" if is_ended else f"goes on with a plan that its program cannot follow from there: {rollout.reason}"
        predictions, holds = rollout
        change = explain_plan_change(predictions, holds, plan.aim)
        if plan_roll.prediction is None:
            is_wrong = change is None or not program.has_update
            return "ends a plan that, rolled from there, still ends where it was to end" if is_wrong else ""
        if change is not None and program.has_update:
            return f"goes on with a plan that had to end there: {change}"
        if not predictions[0].is_same_as(load_prediction(self.event_audit.ledger, plan_roll.prediction)):
            return "predicts something else than its program shows when the rest of the plan is rolled from there"
        return ""

    def _check_certificate(self, plan: AuditedPlan, program: Program) -> str:
        """The search for it, again: so many nodes must do, and no shorter way be found."""
        key = plan.member, plan.version, plan.position, plan.subgoal, plan.to_frontier, plan.actions
        if key not in self._search_findings:
            limits = Limits(nodes=plan.nodes, depth=len(plan.actions), seconds=_SEARCH_SECONDS)
            trajectory, clicks = self._cut_record(plan.position).current, self.event_audit.spec.clicks
            result = retry_on_host_fault(find_plan, program, trajectory, limits, plan.subgoal, clicks, plan.to_frontier)
            self._search_findings[key] = self._compare_search(plan, result)
        return self._search_findings[key]

    def _compare_search(self, plan: AuditedPlan, result: Plan | NoPlan | ProgramError) -> str:
        self.n_searched += 1
        is_machine_limit = result.kind in _MACHINE_FAULT_KINDS if isinstance(result, ProgramError) else result.cut in _MACHINE_CUTS
        if is_machine_limit:
            self.n_cut += 1
            return ""
        if not isinstance(result, Plan):
            return f"calls a plan the shortest that a search of {plan.nodes:,} states does not find: {result.reason}"
        if len(result.actions) != len(plan.actions) or not result.certified:
            certainty = "the shortest" if result.certified else "not known to be the shortest"
            return (
                f"calls {len(plan.actions)} actions the shortest plan; found again, it has {len(result.actions)} and is {certainty}"
            )
        return ""

    def _check_choice(self, choice: DisagreementChoice) -> str:
        """What the policy `disagree` chose, chosen again: from what every member foresees of every plan (and action)."""
        programs: dict[int, Program] = {}
        for member, hypothesis in choice.hypotheses.items():
            program = self._load_program(hypothesis)
            if isinstance(program, ProgramError):
                return f"follows what members foresee, and the program of member {member} does not load: {program.reason}"
            programs[member] = program
        clicks = self.event_audit.spec.clicks if choice.class_index is None else None
        disagreement = choose_disagreement(
            find_disagreements(programs, self._cut_record(choice.position).current, choice.plans, clicks)
        )
        if choice.class_index is not None:
            return (
                ""
                if disagreement.class_index == choice.class_index
                else f"draws class {choice.class_index}, and members part most tellingly on {disagreement.class_index}"
            )
        is_same_probe = (disagreement.actions, disagreement.parts[0][0], format_question(disagreement)) == (
            (choice.action,),
            choice.member,
            choice.question,
        )
        if disagreement.class_index is None and is_same_probe:
            return ""
        return f"tries action {choice.action} for what members dispute, and they part otherwise: {format_question(disagreement)}"

    def _load_program(self, hypothesis: Hypothesis) -> Program | ProgramError:
        open_rules = self.event_audit.protocol.find_open_rules(hypothesis.rulebook)
        key = (tuple(sorted(hypothesis.files.items())), open_rules)
        if key not in self._programs:
            self._programs[key] = retry_on_host_fault(self.host.load, hypothesis.files, open_rules)
        return self._programs[key]

    def _cut_record(self, position: RecordPosition) -> Record:
        """The record as it stood: so many trajectories, so many steps of the last (below 0: not even its start)."""
        full_record, (trajectories, steps) = self.event_audit.record, position
        record = Record(full_record.levels)
        record.trajectories = full_record.trajectories[: trajectories - 1]
        if steps >= 0:
            record.trajectories.append(_cut_trajectory(full_record.trajectories[trajectories - 1], steps))
        return record


def _cut_trajectory(trajectory: Trajectory, n_steps: int) -> Trajectory:
    """The first steps of a trajectory."""
    prefix = Trajectory(trajectory.first, trajectory.earlier)
    for action, observation in trajectory.steps[:n_steps]:
        prefix.append(action, observation)
    return prefix


def replay_world(event_audit: EventAudit) -> tuple[bool | None, str]:
    """Play the world of a run from its start, as recorded. True: the same to the end; False: not; None: nobody can say."""
    spec = event_audit.last_opening.spec
    if not spec.is_replayable:
        return None, "it is played on a server, which shows nothing twice"
    try:
        address = WorldAddress.parse(event_audit.run.world)
        with WorldProcess(address, environment=world_environment(address)) as world:
            difference = describe_replay_difference(world, load_steps(event_audit.ledger))
    except LawbookError as error:
        return False, f"it cannot be played again: {error}"
    return (
        (True, f"played again, it shows the same to the last of {event_audit.record.n_actions:,} actions")
        if difference is None
        else (False, difference)
    )


def fetch_billed(event_audit: EventAudit) -> tuple[int, int] | None:
    """(plays, actions) that the scorecard of a world on a server holds of this run; None where there is none that says so."""
    spec, last_observation = event_audit.last_opening.spec, event_audit.record.last
    if spec.is_replayable or not spec.ticket or last_observation is None:
        return None
    try:
        address = WorldAddress.parse(event_audit.run.world)
        with WorldProcess(address, environment=world_environment(address, spec.ticket)) as world:
            return world.rejoin(last_observation)
    except LawbookError:
        return None
