"""What members believed and planned, told a second time from the events of a run: the half of the trail about hypotheses."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from lawbook.core import validation
from lawbook.core.executable import Executable, PlanRun
from lawbook.core.hypothesis import Decision, Hypothesis, Proposal, Trigger, validate_files
from lawbook.core.record import Action, Record, Status
from lawbook.core.results import Counterexample, Verdict, VerdictKind
from lawbook.ledger.contents import load_proposal
from lawbook.ledger.events import (
    CallAnswer,
    DrawEvent,
    IntendEvent,
    NoPlanEvent,
    PlanEvent,
    PredictedOutcome,
    ProposeEvent,
    VerdictEvent,
)
from lawbook.ledger.git_versions import AcceptedVersion
from lawbook.ledger.ledger import Ledger
from lawbook.ledger.opening import RecordedSettings
from lawbook.minds.base import judge_by_citations
from lawbook.planning import disagreement, population
from lawbook.protocols import gate
from lawbook.protocols.protocol import Protocol

RecordPosition = tuple[int, int]
"""How long a record was: (trajectories, steps of the last)."""
ReportFinding = Callable[[str, str], None]
"""Told of a line of the audit and of what is not right about the present event."""


@dataclass(frozen=True)
class HypothesisLifetime:
    """A version while it might steer: from its acceptance until it fell, was replaced, or the ledger ends.

    accepted: the event of its verdict. until: the record that it must reproduce. fatal_prediction: (trajectory, step,
    prediction) that it is recorded to have predicted where it fell, None where it fell in another way or did not. replayed: the
    record on which it was accepted and the seed of that replay, None where nothing was replayed.
    """

    member: int
    version: int
    hypothesis: Hypothesis
    accepted: int
    until: RecordPosition
    fatal_prediction: tuple[int, int, PredictedOutcome] | None = None
    replayed: tuple[RecordPosition, str] | None = None


@dataclass(frozen=True)
class RefusedProposal:
    """A proposal that its replay refused, on the record as it stood; or its judge, after a replay that held (UNFAITHFUL)."""

    seq: int
    hypothesis: Hypothesis
    position: RecordPosition
    verdict: Verdict
    seed: str = ""


@dataclass
class AuditedPlan:
    """A plan, by which version and from where; hypothesis: what it was made in, None for one that no program was asked about.
    certified: it claims that there is no shorter one, after a search of so many nodes. predicted_frames, predicted_statuses: what
    it is predicted to show, once it was drawn; older ledgers know no statuses, and what resumed them had no predictions."""

    seq: int
    member: int
    version: int
    hypothesis: Hypothesis | None
    position: RecordPosition
    actions: tuple[Action, ...]
    subgoal: str | None
    question: str
    certified: bool = False
    nodes: int = 0
    predicted_frames: tuple[str, ...] = ()
    predicted_statuses: tuple[frozenset[Status], ...] | None = None
    predicted_open_cells: tuple[str | None, ...] | None = None
    to_frontier: bool = False

    @property
    def executable(self) -> Executable:
        """What following it means."""
        return PlanRun(self.actions)

    @property
    def aim(self) -> str:
        """What it is to end in: goal, subgoal or frontier."""
        return "frontier" if self.to_frontier else "goal" if self.subgoal is None else "subgoal"


@dataclass(frozen=True)
class PlanRoll:
    """A plan under way after a step that may have shown more than was predicted of it: what is left must still end in its aim.

    position: the record then. n_sent: steps of the plan sent by then. prediction: what the next was predicted to show, as that must
    be; None where the plan was ended instead (`changed`).
    """

    seq: int
    plan: AuditedPlan
    n_sent: int
    position: RecordPosition
    prediction: PredictedOutcome | None


@dataclass(frozen=True)
class DisagreementChoice:
    """What the policy `disagree` chose from there: one of several classes of plans, or to send one action first (a trial).

    hypotheses: what each member that might steer believed; plans: one of each class, in their order. class_index: index of the
    class that was drawn, None for a trial; action, member, question: of the trial.
    """

    seq: int
    position: RecordPosition
    hypotheses: Mapping[int, Hypothesis]
    plans: tuple[tuple[Action, ...], ...]
    class_index: int | None
    action: Action | None = None
    member: int | None = None
    question: str = ""


@dataclass
class AuditedMember:
    """One member. admissible: may it steer? answers: of its mind, by operation, that have had no consequence yet; asked: how many
    there were. asked_at: actions on record when it was last asked why nobody has a plan. planless_version: the one whose last
    search from here found no way to its goal that takes an action."""

    hypothesis: Hypothesis | None = None
    admissible: bool = False
    version: int = 0
    accepted_seq: int = -1
    proposal: Proposal | None = None
    proposed_seq: int = -1
    proposed_hash: str = ""
    replayed: tuple[RecordPosition, str] | None = None
    pending_answers: dict[str, CallAnswer] = field(default_factory=dict)
    n_calls: int = 0
    asked_at: int = -1
    planless_version: int | None = None
    failed_candidates: list[tuple[Hypothesis, int]] = field(default_factory=list)


class HypothesisAudit:
    """Members, their versions and plans. Fed by the trail, event by event; what is wrong is told to `find`.

    accepted_versions: every version, as the git memory must hold it. lifetimes, refusals, plans, choices: what a strict audit
    runs again.
    """

    def __init__(self, ledger: Ledger, record: Record, protocol: Protocol, run: RecordedSettings, report: ReportFinding) -> None:
        self.ledger, self.record, self.protocol, self.run, self._report = ledger, record, protocol, run, report
        self.members = [AuditedMember() for _ in range(run.population)]
        self.accepted_versions: list[AcceptedVersion] = []
        self.lifetimes: list[HypothesisLifetime] = []
        self.refusals: list[RefusedProposal] = []
        self.plans: list[AuditedPlan] = []
        self.choices: list[DisagreementChoice] = []
        self.plan_rolls: list[PlanRoll] = []
        self.active_plan: tuple[AuditedPlan, int] | None = None
        self._is_step_open = self._may_differ = False
        self.n_mismatches = self.n_proposals = self.n_draws = 0
        self._fresh_plans: dict[int, AuditedPlan] = {}
        self._drawn_since_resume = False

    @property
    def position(self) -> RecordPosition:
        return len(self.record), len(self.record.current) if len(self.record) else 0

    def on_resume(self) -> None:
        """Where the ledger does not say all that was planned, nothing is compared with it from here on: nobody had it any more."""
        self._drawn_since_resume = False

    # -- proposals -----------------------------------------------------------------------------------------------------------

    def on_proposal(self, seq: int, event_hash: str, data: ProposeEvent) -> None:
        """One that has no verdict when the next comes was cut short, by a crash or whoever proposed, and replaced nothing."""
        member = self.members[data.member]
        if data.n_actions != self.record.n_actions:
            self._report("counts", f"claims {data.n_actions} actions sent, and {self.record.n_actions} are on record")
        member.proposal, member.proposed_seq = validation.validate_proposal(load_proposal(self.ledger, data.proposal)), seq
        member.proposed_hash = event_hash
        if member.pending_answers.get("propose", data.proposal) != data.proposal:
            self._report("verdicts", "is not what the mind had answered")
        member.pending_answers.pop("judge", None)
        if data.cause is Trigger.NO_PLAN:  # older ledgers do not say it before
            member.asked_at = self.record.n_actions
        self.n_proposals += 1

    def on_proposal_verdict(self, seq: int, time: float, data: VerdictEvent) -> None:
        """The gate's answer: the rules that need no replay are asked again here, those that do by a strict audit."""
        index, verdict = data.member, data.verdict
        member, proposal = self.members[index], self.members[index].proposal
        if proposal is None:
            self._report("verdicts", f"judges a proposal of member {index}, and there is none")
            return
        member.proposal, candidate = None, proposal.apply_to(member.hypothesis)
        self._check_gate_rules(member, proposal, candidate, verdict)
        if not verdict.admissible:
            if verdict.outcome is not VerdictKind.REFUSED:
                member.failed_candidates.append((candidate, self.record.n_actions))
                self.refusals.append(RefusedProposal(seq, candidate, self.position, verdict, member.proposed_hash))
            return
        if candidate == member.hypothesis and member.admissible:
            return
        self.end_lifetime(index, self.position)
        is_replayed = (
            not member.admissible or member.hypothesis is None or not self.protocol.is_same_program(candidate, member.hypothesis)
        )
        member.replayed = (self.position, member.proposed_hash) if is_replayed else None
        if candidate != member.hypothesis:
            member.version += 1
            message = proposal.diagnosis or proposal.decision.value
            self.accepted_versions.append(AcceptedVersion(index, member.version, candidate, message, time))
            if self.active_plan is not None and self.active_plan[0].member == index:
                self.active_plan = None
        member.hypothesis, member.admissible, member.accepted_seq = candidate, True, seq

    def _check_gate_rules(self, member: AuditedMember, proposal: Proposal, candidate: Hypothesis, verdict: Verdict) -> None:
        """What is refused unread breaks a rule; what is not breaks none, and is judged as its judge had said."""
        violation = proposal.unusable or gate.find_broken_rule(self.protocol, member.hypothesis, member.admissible, proposal)
        if not violation and proposal.decision is not Decision.RETAIN:
            violation = validate_files(candidate) or (
                "It failed before, on this record." if (candidate, self.record.n_actions) in member.failed_candidates else None
            )
        claim = f"calls proposal {member.proposed_seq} {verdict.outcome}"
        if (verdict.outcome is VerdictKind.REFUSED) != bool(violation):
            self._report("verdicts", f"{claim}, and {f'the gate refuses it: {violation}' if violation else 'nothing forbids it'}")
        is_judged = self.protocol.needs_fidelity and proposal.decision is not Decision.RETAIN
        if not is_judged or verdict.outcome not in (VerdictKind.ADMISSIBLE, VerdictKind.UNFAITHFUL):
            return
        judgement, judge_answer = verdict.judgement, member.pending_answers.get("judge")
        if judgement is None or judgement.faithful is not verdict.admissible:
            self._report("verdicts", f"{claim} without a judgement that says so")
        elif judgement != (judge_by_citations(candidate) if judge_answer is None else judge_answer):
            self._report("verdicts", f"{claim} by another judgement than its judge gave")

    # -- falls ---------------------------------------------------------------------------------------------------------------

    def on_mismatch(self, index: int, verdict: Verdict, expected: Counterexample | None) -> None:
        """A wrong prediction, or a program that failed. expected: what the comparison finds, where it was asked again."""
        member, counterexample = self.members[index], verdict.counterexample
        self.n_mismatches += 1
        if not member.admissible:
            self._report("predictions", f"falsifies member {index}, of which nothing stood")
        if expected is not None:
            if counterexample is None or _extract_compared_fields(counterexample) != _extract_compared_fields(expected):
                self._report("predictions", f"tells of member {index}'s wrong prediction otherwise than the comparison does")
        else:
            if (verdict.outcome, counterexample is None) not in ((VerdictKind.FAULT, True), (VerdictKind.COUNTEREXAMPLE, False)):
                self._report("predictions", f"falsifies member {index} and does not say by what")
            elif counterexample is not None and (counterexample.trajectory + 1, counterexample.step) != self.position:
                self._report("predictions", f"tells of a wrong prediction of member {index} that is not of now")
            trajectories, steps = self.position
            self.end_lifetime(index, (trajectories, steps) if verdict.fault and steps else (trajectories, steps - 1))
        member.admissible = False
        if self.active_plan is not None and self.active_plan[0].member == index:
            self.active_plan = None

    def end_lifetime(
        self, index: int, until: RecordPosition, fatal_prediction: tuple[int, int, PredictedOutcome] | None = None
    ) -> None:
        """The life of what stands ends here."""
        member = self.members[index]
        if member.admissible and member.hypothesis is not None and member.accepted_seq >= 0:
            self.lifetimes.append(
                HypothesisLifetime(
                    index, member.version, member.hypothesis, member.accepted_seq, until, fatal_prediction, member.replayed
                )
            )
            member.accepted_seq = -1

    # -- plans ---------------------------------------------------------------------------------------------------------------

    def on_plan(self, seq: int, data: PlanEvent) -> None:
        member = self.members[data.member]
        if not member.admissible and (self.protocol.needs_hypothesis or data.method != "given"):
            self._report("plans", f"is a plan of member {data.member}, of which nothing admissible stood")
        if data.subgoal is None:
            member.planless_version = None if data.actions else member.version
        if data.actions is None:
            return
        subgoal = None if data.subgoal is None else self.ledger.get_text(data.subgoal)
        hypothesis = member.hypothesis if member.admissible else None
        if data.certified and (data.cut is not None or (data.actions and data.method != "bfs")):
            self._report("plans", f"calls a plan the shortest that was found by {data.method} (cut: {data.cut})")
        if data.aim not in (None, "goal", "subgoal", "frontier") or (data.aim == "frontier" and not self.protocol.allows_open):
            self._report("plans", f"aims at {data.aim}, which is no aim of a plan under this protocol")
        plan_fields = (seq, data.member, member.version, hypothesis, self.position, data.actions, subgoal, data.question)
        plan = AuditedPlan(*plan_fields, certified=data.certified, nodes=data.nodes, to_frontier=data.aim == "frontier")
        self._fresh_plans[plan.seq] = plan
        self.plans.append(plan)

    @property
    def uses_disagreement(self) -> bool:
        """The policy of the run is `disagree`."""
        return self.run.policy == population.DISAGREE

    def on_draw(self, seq: int, data: DrawEvent) -> None:
        groups, class_index = [list(members) for members in data.classes], data.class_index
        plan = self._fresh_plans.get(data.plan_seq)
        if plan is None or plan.member not in groups[class_index]:
            self._report("plans", f"draws plan {data.plan_seq}, which was not made from there, or by nobody of its class")
            self.active_plan = None
            return
        if plan.version != self.members[plan.member].version:
            self._report("plans", f"draws a plan of version {plan.version} of member {plan.member}, which was replaced since")
        if groups != [[plan.member]] or class_index:  # else it is the only class, or what a caller executes
            plan_classes = self._group_plans()
            if groups != plan_classes:
                self._report("plans", f"draws among the classes {groups}, and the plans make {plan_classes}")
            if self.uses_disagreement:
                self._record_choice(seq, class_index)
            elif class_index != population.draw_class(groups, self.run.seed, self.n_draws):
                self._report("plans", f"draws class {class_index} of {groups}, which is not what the seed draws")
        plan.predicted_frames, self._drawn_since_resume = data.predicted_frames or (), True
        plan.predicted_statuses, plan.predicted_open_cells = data.predicted_statuses, data.predicted_open_cells
        if plan.predicted_statuses is not None and plan.predicted_open_cells is None:
            plan.predicted_open_cells = (None,) * len(plan.predicted_statuses)
        for noun, foretold in (
            ("frames", plan.predicted_frames),
            ("statuses", plan.predicted_statuses or ()),
            ("planes of open cells", plan.predicted_open_cells or ()),
        ):
            if len(foretold) not in (0, len(plan.actions)):
                self._report("plans", f"foretells {len(foretold)} {noun} of a plan of {len(plan.actions)} actions")
        if plan.predicted_statuses is not None and len(plan.predicted_statuses) != len(plan.predicted_frames):
            self._report("plans", f"foretells {len(plan.predicted_frames)} frames and {len(plan.predicted_statuses)} statuses")
        self.n_draws += 1
        self.active_plan = None if plan.executable.is_finished(0) else (plan, 0)
        self._is_step_open = self._may_differ = False
        self._fresh_plans.clear()

    def on_no_plan(self, data: NoPlanEvent) -> None:
        """A draw from no classes: whoever may steer searched in vain from here, and who was not asked about it yet, is asked."""
        admissible = {index: member for index, member in enumerate(self.members) if member.admissible}
        to_ask = [index for index, member in admissible.items() if member.asked_at != self.record.n_actions]
        if not to_ask or list(data.members) != to_ask:
            self._report("plans", f"asks members {list(data.members)} why nobody has a plan, and had to ask {to_ask}")
        for index, member in admissible.items():
            if member.planless_version != member.version:
                self._report("plans", f"says that nobody has a plan, and member {index} had not searched in vain")
            member.asked_at = self.record.n_actions

    def on_probe(self, seq: int, action: Action, member: int | None, question: str) -> None:
        """A probe that no mind's answer asked for. One that says that members dispute it is held against what they foresee."""
        if self.uses_disagreement and disagreement.is_disagreement_question(question):
            self._record_choice(seq, None, action, member, question)

    def _record_choice(self, seq: int, class_index: int | None, *trial: Any) -> None:
        hypotheses = {k: m.hypothesis for k, m in enumerate(self.members) if m.admissible and m.hypothesis is not None}
        plans = tuple(self._group_members_by_plan())
        if len(plans) > 1:
            self.choices.append(DisagreementChoice(seq, self.position, hypotheses, plans, class_index, *trial))
        elif class_index is None:
            self._report("plans", "sends an action on which members are said to part, and their plans do not")

    def _group_plans(self) -> list[list[int]]:
        """Members by identical plans to the goal, each the last that it made from here (Eq. 32)."""
        return list(self._group_members_by_plan().values())

    def _group_members_by_plan(self) -> dict[tuple[Action, ...], list[int]]:
        latest_plans = {plan.member: plan for plan in self._fresh_plans.values() if plan.subgoal is None}
        plan_classes: dict[tuple[Action, ...], list[int]] = {}
        for index in sorted(latest_plans):
            member, plan = self.members[index], latest_plans[index]
            if member.admissible and plan.version == member.version and plan.actions:
                plan_classes.setdefault(plan.actions, []).append(index)
        return plan_classes

    def on_plan_step(self, seq: int, data: IntendEvent) -> None:
        """A step of a plan: of the plan that was drawn, by a version that still stands, and as it was planned."""
        if data.member is None:
            raise ValueError("a step of a plan that is nobody's")
        index, action, predictions = data.member, data.action, data.predictions
        member = self.members[index]
        refusal = gate.explain_plan_refusal(self.protocol, member.admissible)
        if refusal:
            self._report("plans", f"follows a plan of member {index}, which may not steer: {refusal}")
        if self.active_plan is None or self.active_plan[0].seq != data.plan_seq:
            self._report("plans", f"follows plan {data.plan_seq}, which was not drawn, or is over")
            return
        plan, n_sent = self.active_plan
        if (plan.member, plan.question) != (index, data.question):
            self._report("plans", f"follows plan {plan.seq} for another member or question than planned it")
        if plan.version != member.version:
            self._report("plans", f"follows a plan of version {plan.version}, and version {member.version} stands")
        planned_action = plan.executable.get_action(n_sent)
        if planned_action != action:
            self._report("plans", f"sends {action} where plan {plan.seq} has {planned_action}")
        if self._is_step_open and n_sent and _may_update(plan.hypothesis) and index in predictions:
            self._may_differ = True
            self.plan_rolls.append(PlanRoll(seq, plan, n_sent, self.position, predictions[index]))
        if self._may_differ or index not in predictions or not (self._drawn_since_resume or plan.predicted_statuses):
            return
        for noun, predicted, foretold in zip(
            ("frame", "status", "plane of open cells"),
            (predictions[index].frame, predictions[index].statuses, predictions[index].open_cells),
            (plan.predicted_frames, plan.predicted_statuses, plan.predicted_open_cells),
            strict=True,
        ):
            if foretold and predicted != foretold[n_sent]:
                self._report("plans", f"predicts another {noun} for action {n_sent + 1} of plan {plan.seq} than was planned")

    def on_plan_change(self, seq: int, data: VerdictEvent) -> None:
        """A plan was ended because it no longer ended in its aim: only after a step that may have shown more than was predicted."""
        if data.verdict.outcome is not VerdictKind.CHANGED or not data.verdict.reason or not self.protocol.allows_open:
            self._report("verdicts", f"is a verdict about a plan that says {data.verdict.outcome}")
        elif self.active_plan is None or self.active_plan[0].member != data.member:
            self._report("plans", f"ends a plan of member {data.member}, and none is followed")
        elif not self._is_step_open or not self.active_plan[1]:
            self._report("plans", f"ends plan {self.active_plan[0].seq} where nothing was left open")
        else:
            plan, n_sent = self.active_plan
            self.plan_rolls.append(PlanRoll(seq, plan, n_sent, self.position, None))
        self.active_plan = None

    def on_action(self, plan_seq: int | None, is_running: bool, is_open: bool = False) -> None:
        """An action has been observed.

        plan_seq: whose step it was. is_running: the level is still running. is_open: more may have been seen than the plan's member
        had predicted.
        """
        self._fresh_plans.clear()
        self._is_step_open = is_open and self.protocol.allows_open
        for member in self.members:
            member.planless_version = None
        if self.active_plan is not None:
            active, n_sent = self.active_plan
            follows_plan = plan_seq == active.seq and not active.executable.is_finished(n_sent + 1)
            self.active_plan = (active, n_sent + 1) if follows_plan and is_running else None


def _may_update(hypothesis: Hypothesis | None) -> bool:
    """Whether a program may define `update`."""
    return hypothesis is not None and any("update" in text for text in hypothesis.files.values())


def _extract_compared_fields(counterexample: Counterexample) -> tuple[Any, ...]:
    """A counterexample without its words, which another version may choose otherwise."""
    names = ("trajectory", "step", "level", "action", "expected", "predicted", "cells", "regions")
    return tuple(getattr(counterexample, name) for name in names)
