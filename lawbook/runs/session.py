"""One live run: the operations that the loop and the doors share. Only here are hypotheses accepted and actions let through."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal, overload

from lawbook.core import validation
from lawbook.core.hypothesis import Hypothesis, Proposal
from lawbook.core.record import RESET, Action
from lawbook.core.results import (
    Counterexample,
    ExecutionResult,
    Judgement,
    Limits,
    NoPlan,
    Plan,
    Prediction,
    Probe,
    ProgramError,
    Subgoal,
    Verdict,
    VerdictKind,
)
from lawbook.errors import HostError, MindError, RefusedError
from lawbook.ledger.codec import pack_plan, pack_proposal, unpack_exploration, unpack_proposal
from lawbook.ledger.git_versions import GitVersions
from lawbook.ledger.ledger import EventKind
from lawbook.minds.base import Case, Mind, Trigger, judge_by_citations
from lawbook.planning import disagreement, population
from lawbook.planning.live_prediction import LivePredictor, retry_on_host_fault
from lawbook.planning.planner import find_plan, roll
from lawbook.planning.regression import describe_regressions, replan_completed_levels
from lawbook.protocols import gate
from lawbook.protocols.protocol import Protocol
from lawbook.runs import mind_call, record_scripts
from lawbook.runs.acceptance import evaluate_proposal
from lawbook.runs.action_executor import ActionExecutor
from lawbook.runs.case_builder import build_case
from lawbook.runs.event_log import EventLog
from lawbook.runs.mind_tools import MindTools
from lawbook.runs.queries import RunQueries
from lawbook.runs.state import ActionKind, ActivePlan, Member, RunOutcome
from lawbook.sandbox.host import Host, Program
from lawbook.verification.replay import verify
from lawbook.worlds.world import World

DECLARABLE_OUTCOMES = (RunOutcome.FINISHED, RunOutcome.STUCK, RunOutcome.IN_DOUBT)
"""Endings that `finish` takes; the others follow from what was observed."""


class Session(RunQueries):
    """A run that is open: a fold over its journal, with a world, a host and (for our loop) a mind.

    budget: actions in all (B), resets included; seed: of every draw; limits: of every search, but for the depth (the budget left);
    policy: how one of several classes of plans is taken (population.POLICIES).
    """

    def __init__(
        self,
        event_log: EventLog,
        world: World,
        host: Host,
        git: GitVersions,
        mind: Mind | None,
        protocol: Protocol,
        *,
        budget: int,
        seed: int,
        limits: Limits | None = None,
        policy: str = population.UNIFORM,
    ) -> None:
        self.event_log, self.world, self.host, self.git, self.mind, self.protocol = event_log, world, host, git, mind, protocol
        self.budget, self.seed, self.limits, self.policy = budget, seed, limits or Limits(), policy
        self._predictor = LivePredictor(host, protocol)
        self._executor = ActionExecutor(event_log, world, self._predictor, budget=budget, protocol=protocol)
        self._plan_cache: dict[tuple[int, str | None, bool], tuple[tuple[int, int, Limits], int, Plan | NoPlan]] = {}
        self._plan_predictions: Sequence[Prediction] = ()

    # -- whose turn it is ---------------------------------------------------------------------------------------------------

    def mark_members_without_plan(self) -> list[int]:
        """Admissible members not yet asked, on this state of the record, why nobody has a plan. They are due now."""
        members = [m for m in self.state.members if m.admissible and m.reflected_at != self.state.n_actions]
        for m in members:
            m.trigger = Trigger.NO_PLAN  # no event: a resumed run comes to the same question by planning again
        return [m.index for m in members]

    def pick_explorer(self) -> int | None:
        """Whose mind explores: an admissible member, else any, drawn. None: nothing may be sent any more without a model."""
        allowance = self.protocol.get_allowance(self.budget)
        if not self.list_admissible_members() and allowance is not None and self.state.n_unpredicted >= allowance:
            return None
        members = self.list_admissible_members() or [m.index for m in self.state.members]
        return population.draw_explorer(members, self.seed, self.state.n_actions)

    def build_case(self, member: int, trigger: Trigger | None = None) -> Case:
        """What this member's mind is shown."""
        self._get_member(member)
        mind_tools = MindTools(
            self.event_log, member, self.run_python, lambda *args: self.simulate(args[0], member, *args[1:]), self.get_prefix
        )
        case = build_case(
            self.state, self.world.spec, self.protocol, member=member, budget=self.budget, seed=self.seed, trigger=trigger
        )
        return replace(case, tools=mind_tools)

    def run_python(self, code: str) -> str:
        """What `code` prints, run over the record in the sandbox (analysis.GUIDE says what it finds there). Changes nothing."""
        return record_scripts.run_script(self.host, self.record, validation.validate_text(code, "The code"))

    # -- asking the mind -----------------------------------------------------------------------------------------------------

    @overload
    def call_mind(self, member: int, op: Literal["propose"]) -> Proposal: ...
    @overload
    def call_mind(self, member: int, op: Literal["explore"]) -> Subgoal | Probe: ...
    def call_mind(self, member: int, op: Literal["propose", "explore"]) -> Proposal | Subgoal | Probe:
        """The mind's answer: from the ledger if a crash came before it had any consequence, else asked for and written down."""
        ledger, mind = self.event_log.ledger, self.mind
        if mind is None:
            raise MindError("No mind is at work in this run; propose and act through its doors.")
        self._require_open()
        case = self.build_case(member, Trigger.EXPLORE if op == "explore" else None)
        answer = mind_call.call_mind(self.event_log, mind, self._get_member(member), op, case)
        return unpack_proposal(ledger, answer) if op == "propose" else unpack_exploration(ledger, answer)

    def refuse_exploration(self, member: int, reason: str) -> None:
        """Tell a mind that its exploration cannot be used. Too often on one record, and the run is stuck."""
        self._require_open()
        self._get_member(member)
        self.event_log.append_verdict(
            member, "explore", Verdict(VerdictKind.REFUSED, validation.validate_text(reason, "The reason of a refusal"))
        )
        self.event_log.commit()
        if self.state.members[member].n_explore_refusals >= gate.MAX_REFUSALS:
            self.finish(RunOutcome.STUCK, f"No usable exploration in {gate.MAX_REFUSALS} answers; the last was refused: {reason}")

    # -- believing -----------------------------------------------------------------------------------------------------------

    def propose(self, proposal: Proposal, member: int = 0) -> Verdict:
        """The only way to an accepted hypothesis. A refusal replaces nothing.

        The proposal is in the ledger before it is looked at, what is looked at is what the ledger holds, and the verdict is there
        before this returns. Raises RefusedError for what is no proposal at all.
        """
        self._require_open()
        m, proposal = self._get_member(member), validation.validate_proposal(proposal)
        if m.proposal is None or m.proposal[1] != proposal:  # else a crash came between this proposal and its verdict
            trigger = self.build_case(member).trigger
            body = {"member": member, "why": trigger.value, "cause": (m.trigger or trigger).value, "at": self.state.n_actions}
            self.event_log.append(EventKind.PROPOSE, {**body, **pack_proposal(self.event_log.ledger, proposal)})
            self.event_log.commit()
        n_accepted, started_at = len(self.state.accepted_versions), time.perf_counter()
        assert m.proposal is not None
        verdict = evaluate_proposal(
            m.proposal[1],
            m,
            self.record,
            self.host,
            self.protocol,
            lambda candidate: self._judge(member, candidate),
            self.event_log.ledger.get_event(m.proposal[0]).hash,
        )
        verdict = replace(verdict, seconds=time.perf_counter() - started_at)
        regressions = self._describe_regressions(m, m.proposal[1].apply_to(m.hypothesis)) if verdict.admissible else ""
        self.event_log.append_verdict(member, "proposal", verdict)
        if regressions:  # in one transaction with the verdict: a crash between the two would keep it from the mind for good
            self.event_log.append(EventKind.NOTE, {"text": regressions})
        self.event_log.commit()
        for accepted_version in self.state.accepted_versions[n_accepted:]:
            self._predictor.drop_worker(member)
            self.git.save(
                accepted_version.member,
                accepted_version.hypothesis,
                accepted_version.iteration,
                accepted_version.message,
                time=accepted_version.time,
            )
        return verdict

    def _describe_regressions(self, m: Member, candidate: Hypothesis) -> str:
        """What to tell of completed levels that a changed program sees no way through any more; empty when there is nothing."""
        if not self.state.n_completed or (m.hypothesis is not None and candidate.has_same_program(m.hypothesis)):
            return ""
        results = [
            replan_completed_levels(self._load_program(m.index, hypothesis), self.record, self.world.spec.clicks)
            for hypothesis in (m.hypothesis, candidate)
            if hypothesis is not None
        ]
        return describe_regressions({result.level for result in results[0] if result.planned_length is not None}, results[-1])

    def _judge(self, member: int, candidate: Hypothesis) -> Judgement:
        mind = self.mind
        if mind is None or not mind.proposes:
            return judge_by_citations(candidate)
        return Judgement(
            **mind_call.call_mind(self.event_log, mind, self._get_member(member), "judge", self.build_case(member), candidate)
        )

    def verify(self, member: int = 0) -> Verdict:
        """Replay the whole record once more with this member's program. Changes nothing. Raises RefusedError without a program."""
        seed = self.event_log.ledger.head
        return verify(self._get_program(member), self.record, compared_fields=self.protocol.compared_fields, seed=seed)

    def simulate(
        self, actions: Sequence[Action], member: int = 0, trajectory: int = -1, step: int | None = None
    ) -> tuple[Prediction, ...]:
        """What this member's program says `actions` would show, from the present or from after `step` actions of a trajectory.

        Any program that was once accepted may be asked, falsified or not. Nothing is sent. Raises RefusedError.
        """
        rollout = retry_on_host_fault(
            roll,
            self._get_program(member),
            self.get_prefix(trajectory, step),
            [validation.validate_action(action) for action in actions],
        )
        if isinstance(rollout, ProgramError):
            raise RefusedError(f"The program fails on those actions: {rollout.reason}")
        return rollout[0]

    # -- planning ------------------------------------------------------------------------------------------------------------

    def plan(
        self, member: int = 0, subgoal: Subgoal | None = None, limits: Limits | None = None, *, frontier: bool = False
    ) -> Plan | NoPlan:
        """Find the shortest way this member sees, within the remaining budget, to its goal or to a subgoal (Eq. 26).

        frontier: to the nearest state of which its program does not know whether it is a goal, in place of a goal.

        A program that fails while it is searched, or plans what the world does not accept, is falsified by that. Raises
        RefusedError without an admissible program, in a level that is over, and for a subgoal whose own source fails.
        """
        self._require_running()
        m = self._get_member(member)
        subgoal = None if subgoal is None else validation.validate_subgoal(subgoal)
        search_limits = self.limits if limits is None else validation.validate_limits(limits)
        if not m.admissible:
            raise RefusedError("There is no admissible program to plan in; propose one that verifies on the whole record.")
        depth = self.actions_left if search_limits.depth is None else min(self.actions_left, search_limits.depth)
        if frontier and (subgoal is not None or not self.protocol.allows_open):
            raise RefusedError("A frontier is planned to under a protocol that lets programs leave goals open, without a subgoal.")
        source = subgoal.source if subgoal else None
        key, cache_stamp = (member, source, frontier), (m.version, self.state.n_actions, search_limits)
        if key in self._plan_cache and self._plan_cache[key][0] == cache_stamp:
            _, seq, cached_plan = self._plan_cache[key]
            if isinstance(cached_plan, Plan) and seq not in self.state.open_plans:  # another's draw has used up its event
                self._plan_cache[key] = (cache_stamp, self._append_plan_event(member, cached_plan, subgoal), cached_plan)
            return cached_plan
        program, trajectory, clicks = self._get_program(member), self.record.current, self.world.spec.clicks
        result = retry_on_host_fault(find_plan, program, trajectory, replace(search_limits, depth=depth), source, clicks, frontier)
        if isinstance(result, Plan):
            result = self._executor.validate(*result.actions) or result
        if isinstance(result, ProgramError):
            if result.kind == "subgoal":
                raise RefusedError(f"The subgoal itself fails: {result.reason}")
            self._executor.falsify(member, Verdict(VerdictKind.FAULT, f"While planning: {result.reason}", fault=result))
            self.event_log.commit()
            return NoPlan(result.reason, False, None, 0, 0.0)
        self._plan_cache = {
            cache_key: cache_entry
            for cache_key, cache_entry in self._plan_cache.items()
            if cache_entry[0][1] == self.state.n_actions
        }  # the others are stale
        self._plan_cache[key] = (cache_stamp, self._append_plan_event(member, result, subgoal), result)
        return result

    def draw(self, plans: Mapping[int, Plan | NoPlan]) -> int | None:
        """Draw one class of identical nonempty plans (Eq. 32-33); it is followed next. None: nobody has a plan.

        Uniformly; under the policy `disagree`, the one on which members part most tellingly, and soonest (population.disputed).
        Raises RefusedError for a plan that is not what `plan` gave, from here, in the program that stands now.
        """
        self._require_running()
        current_plans: dict[int, tuple[int, Plan]] = {}
        for member, plan in plans.items():
            if isinstance(plan, Plan):
                current_plan = self._find_current_plan(self._get_member(member), None)
                if current_plan is None or current_plan[1] is not plan:
                    raise RefusedError("A plan that is not of now cannot be drawn; plan again, then draw.")
                current_plans[member] = current_plan
        groups = population.group_plans({member: plan for member, (_, plan) in current_plans.items()})
        if not groups:
            return None
        disagreement = self._find_disagreement(plans, include_single_actions=False)
        class_index = (
            population.draw_class(groups, self.seed, self.state.n_draws)
            if disagreement is None or disagreement.class_index is None
            else disagreement.class_index
        )
        driver = groups[class_index][0]
        self._activate_plan(*current_plans[driver], groups, class_index)
        return driver

    def find_disagreement_probe(self, plans: Mapping[int, Plan | NoPlan]) -> tuple[Probe, int] | None:
        """Under the policy `disagree`: an action that begins none of these plans and tells more than any, or as much and sooner,
        with the member to send it for. None: draw a plan."""
        way = self._find_disagreement(plans, include_single_actions=True)
        return (
            None
            if way is None or way.class_index is not None
            else (Probe(way.actions[0], disagreement.format_question(way)), way.parts[0][0])
        )

    def _find_disagreement(
        self, plans: Mapping[int, Plan | NoPlan], include_single_actions: bool
    ) -> population.DisagreementCandidate | None:
        self._require_running()
        member_plans = {member: plan for member, plan in plans.items() if isinstance(plan, Plan)}
        groups = population.group_plans(member_plans)
        if self.policy != population.DISAGREE or len(groups) < 2:
            return None
        programs = {member: self._get_program(member) for member in self.list_admissible_members()}
        class_plans = [member_plans[group[0]].actions for group in groups]
        clicks = self.world.spec.clicks if include_single_actions else None
        return population.choose_disagreement(disagreement.find_disagreements(programs, self.record.current, class_plans, clicks))

    def _find_current_plan(self, m: Member, subgoal_source: str | None) -> tuple[int, Plan] | None:
        """The event of this member's plan (to the subgoal with that source) and the plan: made from here, by what stands now."""
        entries = [self._plan_cache.get((m.index, subgoal_source, frontier), (None, -1, None)) for frontier in (False, True)]
        cache_stamp, seq, plan = next((entry for entry in entries if isinstance(entry[2], Plan)), entries[0])
        if not m.admissible or not isinstance(plan, Plan) or cache_stamp is None or seq not in self.state.open_plans:
            return None
        return (seq, plan) if cache_stamp[:2] == (m.version, self.state.n_actions) else None

    def _activate_plan(self, seq: int, plan: Plan, groups: list[list[int]], class_index: int) -> None:
        self._plan_predictions = plan.predictions
        upcoming_frames = [
            self.event_log.ledger.put_frame(prediction.frame) for prediction in plan.predictions
        ]  # for whoever watches from elsewhere
        self.event_log.append(EventKind.DRAW, {"classes": groups, "drawn": class_index, "plan": seq, "ahead": upcoming_frames})

    def _append_plan_event(self, member: int, result: Plan | NoPlan, subgoal: Subgoal | None) -> int:
        return self.event_log.append(EventKind.PLAN, pack_plan(self.event_log.ledger, member, result, subgoal)).seq

    # -- acting --------------------------------------------------------------------------------------------------------------

    def execute(self, actions: Sequence[Action], subgoal: Subgoal | None = None, member: int = 0) -> ExecutionResult:
        """Send a plan, one action at a time, each predicted on disk before it is sent; the first mismatch stops it.

        It must be predicted to end in the goal, or in the named subgoal (not asked under vanilla). Raises RefusedError otherwise.
        """
        self._require_running()
        m, planned_actions = self._get_member(member), validation.validate_actions(actions)
        subgoal = None if subgoal is None else validation.validate_subgoal(subgoal)
        fault = self._executor.validate(*planned_actions)
        refusal = gate.explain_plan_refusal(self.protocol, m.admissible) or gate.explain_length_refusal(
            len(planned_actions), self.actions_left
        )
        if refusal or fault:
            raise RefusedError(refusal or (fault.reason if fault else ""))
        current_plan = self._find_current_plan(m, subgoal.source if subgoal else None)
        if current_plan is None or current_plan[1].actions != planned_actions:
            plan = self._roll_out(m, planned_actions, subgoal)
            current_plan = self._append_plan_event(member, plan, subgoal), plan
        self._activate_plan(*current_plan, [[member]], 0)
        return self.continue_plan()

    def _roll_out(self, m: Member, actions: tuple[Action, ...], subgoal: Subgoal | None) -> Plan:
        """Somebody's own sequence as a plan: rolled in a fresh worker, it must end where it is said to end."""
        if not m.admissible:
            return Plan(actions, (), False, None, 0, 0.0, "given")
        rollout = retry_on_host_fault(
            roll, self._get_program(m.index), self.record.current, actions, subgoal.source if subgoal else None
        )
        if isinstance(rollout, ProgramError):
            raise RefusedError(f"The program fails on that plan: {rollout.reason}")
        predictions, holds = rollout
        refusal = gate.explain_end_refusal(
            self.protocol, predictions, holds, "the named subgoal" if subgoal else "the goal", subgoal is None
        )
        if refusal and self.protocol.needs_hypothesis:
            raise RefusedError(refusal)
        aim = "subgoal" if subgoal else "frontier" if holds is None else "goal"
        return Plan(actions, predictions, False, None, 0, 0.0, "given", aim)

    def continue_plan(self) -> ExecutionResult:
        """Go on with the plan that was drawn until it ends, any member is falsified, or the run ends."""
        self._require_open()
        sent_actions: list[Action] = []
        last_result = ExecutionResult((), None)
        while (active := self.state.active_plan) is not None and not self.outcome and not last_result.halt_reason:
            halt = self._roll_on(active)
            if halt is not None:
                last_result = replace(halt, observation=last_result.observation)
                break
            action = active.actions[active.n_sent]
            fault = self._executor.validate(action)
            if fault is not None:  # the world no longer accepts what was planned
                self._executor.falsify(active.member, Verdict(VerdictKind.FAULT, fault.reason, fault=fault))
                last_result = ExecutionResult((), None, None, (active.member,), fault.reason)
                break
            expected = self._plan_predictions[active.n_sent] if active.n_sent < len(self._plan_predictions) else None
            last_result = self._executor.act(action, ActionKind.PLAN, active.member, active.plan_seq, active.question, expected)
            sent_actions += last_result.actions
        self.event_log.commit()
        return replace(last_result, actions=tuple(sent_actions))

    def _roll_on(self, active: ActivePlan) -> ExecutionResult | None:
        """Roll what is left of a plan anew where its last step may have shown more than was predicted of it. Returns how the plan
        ended by that; None: it still ends in its aim, and what was rolled is what the next step must show."""
        member = self.state.members[active.member]
        if not self.protocol.allows_open or not active.n_sent or not active.is_open or not member.admissible:
            return None
        if not self._get_program(active.member).has_update:
            return None
        rollout = retry_on_host_fault(self._executor.roll_on, active.member, active.actions[active.n_sent :], active.subgoal)
        if isinstance(rollout, ProgramError) and rollout.kind == "subgoal":
            return self._end_changed_plan(active, f"The subgoal itself fails: {rollout.reason}")
        if isinstance(rollout, Counterexample | ProgramError):
            reason = rollout.text if isinstance(rollout, Counterexample) else f"Going on with a plan: {rollout.reason}"
            verdict = (
                Verdict(VerdictKind.COUNTEREXAMPLE, reason, rollout)
                if isinstance(rollout, Counterexample)
                else Verdict(VerdictKind.FAULT, reason, fault=rollout)
            )
            self._executor.falsify(active.member, verdict)
            return ExecutionResult((), None, None, (active.member,), reason)
        predictions, holds = rollout
        change = gate.explain_plan_change(predictions, holds, active.aim)
        if change is not None:
            return self._end_changed_plan(active, change)
        self._plan_predictions = (*predictions[:1] * active.n_sent, *predictions)  # of what was sent nothing is asked any more
        return None

    def _end_changed_plan(self, active: ActivePlan, reason: str) -> ExecutionResult:
        self.event_log.append_verdict(active.member, "plan", Verdict(VerdictKind.CHANGED, reason))
        return ExecutionResult((), None, halt_reason=reason)

    def probe(self, action: Action, question: str, member: int = 0) -> ExecutionResult:
        """Send one action to learn something; predicted where this member is admissible, else taken from the allowance."""
        self._require_running()
        action, question = validation.validate_action(action), validation.validate_text(question, "The question of a probe")
        fault = ProgramError("action", "A reset is no probe; use reset and give the reason.") if action == RESET else None
        fault = fault or self._executor.validate(action)
        is_predicted = self._get_member(member).admissible
        refusal = gate.explain_probe_refusal(self.protocol, is_predicted, self.state.n_unpredicted, self.budget, question)
        if refusal or fault:
            raise RefusedError(fault.reason if fault else refusal)
        result = self._executor.act(action, ActionKind.PROBE, member, None, question)
        self.event_log.commit()
        return result

    def send_exploration(self, probe: Probe, member: int = 0) -> ExecutionResult:
        """A mind's probe; RESET as its action starts the level anew, for a mind that sees no other way on."""
        if probe.action == RESET:
            return self.reset(probe.question, member=member)
        return self.probe(probe.action, probe.question, member)

    def reset(self, reason: str, whole_game: bool = False, member: int | None = None) -> ExecutionResult:
        """Start the level anew. Costs an action. Refused when it would restart the whole game, unless `whole` says it is meant.

        member: whose mind asked for it; None: the level was over.
        """
        self._require_open()
        reason = validation.validate_text(reason, "The reason of a reset")
        refusal = gate.explain_reset_refusal(self.record, whole_game)
        if refusal:
            raise RefusedError(refusal)
        result = self._executor.act(RESET, ActionKind.RESET, member, question=reason)
        self.event_log.commit()
        return result

    def open(self, opening: Mapping[str, Any] | None = None) -> None:
        """Write the OPEN event (unless it stands already) and take the first observation (H_0), which costs nothing."""
        if len(self.record):
            raise RefusedError("The run has been opened; what starts a level anew is a reset, and costs an action.")
        if opening is not None:
            self.event_log.append(EventKind.OPEN, opening)
            self.event_log.commit()
        self._executor.open()
        self.event_log.commit()

    def settle_in_doubt(self) -> None:
        """Settle what a crash has left: an action in doubt is sent again (its intent is on disk, and the world was rebuilt without
        it); without one, what follows from the last observation is seen to."""
        intent = self.state.intent
        if intent is not None:
            ledger = self.event_log.ledger
            predictions = {m: recorded.load(ledger) for m, recorded in intent.predictions.items()}
            self._executor.send(intent.action, predictions, intent.member)
        else:
            self._executor.after_observation()
        self.event_log.commit()

    # -- closing -------------------------------------------------------------------------------------------------------------

    def note(self, text: str) -> None:
        """Keep a sentence for later calls of the mind."""
        self._require_open()
        self.event_log.append(EventKind.NOTE, {"text": validation.validate_text(text, "A note")})
        self.event_log.commit()

    def finish(self, outcome: RunOutcome, sentence: str) -> None:
        """End the run for good. Raises RefusedError for an ending that is not for anybody to declare."""
        if not isinstance(outcome, RunOutcome) or outcome not in DECLARABLE_OUTCOMES:
            raise RefusedError(f"How a run ends shows in its record; what can be declared is {', '.join(DECLARABLE_OUTCOMES)}.")
        self.event_log.finish(outcome, validation.validate_text(sentence, "The reason of an ending"))

    def close(self) -> None:
        """Let go of workers, world and ledger. Nothing is lost: the run can be resumed unless it has ended."""
        try:
            self.event_log.commit()
        finally:
            self._predictor.close()
            self.world.close()
            self.event_log.ledger.close()

    # -- inside --------------------------------------------------------------------------------------------------------------

    def _get_program(self, member: int) -> Program:
        hypothesis = self._get_member(member).hypothesis
        if hypothesis is None:
            raise RefusedError("There is no program yet; propose one.")
        return self._load_program(member, hypothesis)

    def _load_program(self, member: int, hypothesis: Hypothesis) -> Program:
        program = self._predictor.load_program(member, hypothesis)
        if isinstance(program, ProgramError):
            raise HostError(f"A program that was accepted does not load any more ({program.reason}); resume the run to try again.")
        return program

    def _require_open(self) -> None:
        if self.outcome:
            raise RefusedError(f"The run has ended ({self.outcome}); start another.")
        if self.state.intent is not None:
            raise RefusedError(f"What became of action {self.state.intent.action} is in doubt; resume the run to settle it.")

    def _require_running(self) -> None:
        self._require_open()
        if self.record.needs_reset:
            raise RefusedError("The level is over; only a reset makes sense now.")
