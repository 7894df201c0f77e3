"""One live run: the operations that the loop and the doors share. Only here are hypotheses accepted and actions let through.

Only a session writes events of a run. What it is made of writes in its name and is handed its event log by it: the annotations, the
executor of actions, one call of a mind with its tools. Everybody else asks the session.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Literal, overload

from lawbook.core import validation
from lawbook.core.hypothesis import Hypothesis, Proposal, Trigger
from lawbook.core.record import RESET, Action, ActionKind
from lawbook.core.results import (
    ExecutionResult,
    Judgement,
    Limits,
    NoPlan,
    Plan,
    Probe,
    ProgramError,
    RunOutcome,
    Subgoal,
    Verdict,
    VerdictKind,
)
from lawbook.errors import MindError, RefusedError
from lawbook.ledger.contents import load_exploration, load_prediction, load_proposal, store_draw, store_plan, store_proposal
from lawbook.ledger.events import NoPlanEvent, NoteEvent, OpenEvent, ProposeEvent, StoredProposal, StoredSubgoal
from lawbook.ledger.git_versions import GitVersions
from lawbook.minds.base import Case, Mind, judge_by_citations
from lawbook.planning import population
from lawbook.planning.disagreement import DisagreementFinder, make_probe
from lawbook.planning.live_prediction import LivePredictor, retry_on_host_fault
from lawbook.planning.planner import find_plan, roll
from lawbook.planning.population import DisagreementCandidate
from lawbook.protocols import gate
from lawbook.protocols.protocol import Protocol
from lawbook.runs import mind_call
from lawbook.runs.acceptance import evaluate_proposal
from lawbook.runs.action_executor import ActionExecutor
from lawbook.runs.annotations import RunAnnotations
from lawbook.runs.case_builder import build_case
from lawbook.runs.event_log import EventLog
from lawbook.runs.mind_tools import MindTools
from lawbook.runs.plan_roller import PlanRoller
from lawbook.runs.program_queries import ProgramQueries
from lawbook.runs.state import Member
from lawbook.sandbox.host import Host
from lawbook.worlds.world import World

DECLARABLE_OUTCOMES = (RunOutcome.FINISHED, RunOutcome.STUCK, RunOutcome.IN_DOUBT)
"""Endings that `finish` takes; the others follow from what was observed."""


class Session(ProgramQueries, RunAnnotations):
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
        self._plan_roller = PlanRoller(event_log, self._executor, protocol, self._get_program)
        self._answered_proposal: tuple[Proposal, StoredProposal] | None = None
        self._disagreement_finder = DisagreementFinder(world.spec.clicks)
        self._plan_cache: dict[tuple[int, str | None, bool], tuple[tuple[int, int, Limits], int, Plan | NoPlan]] = {}

    # -- whose turn it is ---------------------------------------------------------------------------------------------------

    def mark_members_without_plan(self) -> list[int]:
        """Admissible members not yet asked, on this state of the record, why nobody has a plan. They are due now."""
        members = [m.index for m in self.state.members if m.admissible and m.reflected_at != self.state.n_actions]
        if members:  # a draw from no classes: durable with what the first of them answers
            self.event_log.append(NoPlanEvent(tuple(members)))
        return members

    def build_case(self, member: int, trigger: Trigger | None = None) -> Case:
        """Build what this member's mind is shown."""
        self._get_member(member)
        mind_tools = MindTools(
            self.event_log, member, self.run_python, lambda *args: self.simulate(args[0], member, *args[1:]), self.get_prefix
        )
        case = build_case(
            self.state, self.world.spec, self.protocol, member=member, budget=self.budget, seed=self.seed, trigger=trigger
        )
        return replace(case, tools=mind_tools)

    # -- asking the mind -----------------------------------------------------------------------------------------------------

    @overload
    def call_mind(self, member: int, op: Literal["propose"]) -> Proposal: ...
    @overload
    def call_mind(self, member: int, op: Literal["explore"]) -> Subgoal | Probe: ...
    def call_mind(self, member: int, op: Literal["propose", "explore"]) -> Proposal | Subgoal | Probe:
        """Return the mind's answer: from the ledger if a crash came before it had any consequence, else asked for and written down.

        Raises MindError.
        """
        ledger, mind = self.event_log.ledger, self.mind
        if mind is None:
            raise MindError("No mind is at work in this run; propose and act through its doors.")
        self._require_open()
        case = self.build_case(member, Trigger.EXPLORE if op == "explore" else None)
        answer = mind_call.call_mind(self.event_log, mind, self._get_member(member), op, case)
        if isinstance(answer, StoredProposal):
            self._answered_proposal = load_proposal(ledger, answer), answer
            return self._answered_proposal[0]
        assert isinstance(answer, StoredSubgoal | Probe), "an answer to another question"
        return load_exploration(ledger, answer)

    def refuse_exploration(self, member: int, reason: str) -> None:
        """Tell a mind that its exploration cannot be used. Too often on one record, and the run is stuck."""
        self._require_open()
        self._get_member(member)
        verdict = Verdict(VerdictKind.REFUSED, validation.validate_text(reason, "The reason of a refusal"))
        self.event_log.append_verdict(member, "explore", verdict)
        self.event_log.commit()
        if self.state.members[member].n_explore_refusals >= gate.MAX_REFUSALS:
            self.finish(RunOutcome.STUCK, f"No usable exploration in {gate.MAX_REFUSALS} answers; the last was refused: {reason}")

    # -- believing -----------------------------------------------------------------------------------------------------------

    def propose(self, proposal: Proposal, member: int = 0) -> Verdict:
        """Put a proposal to the gate: the only way to an accepted hypothesis. A refusal replaces nothing.

        The proposal is in the ledger before it is looked at, what is looked at is what the ledger holds, and the verdict is there
        before this returns. Raises RefusedError for what is no proposal at all.
        """
        self._require_open()
        m, stored_proposal = self._get_member(member), None
        if self._answered_proposal is not None and proposal is self._answered_proposal[0]:
            stored_proposal = self._answered_proposal[1]  # validated when the mind answered, and in the ledger
        else:
            proposal = validation.validate_proposal(proposal)
        if m.proposal is None or m.proposal[1] != proposal:  # else a crash came between this proposal and its verdict
            trigger = self.build_case(member).trigger
            stored_proposal = stored_proposal or store_proposal(self.event_log.ledger, proposal)
            self.event_log.append(ProposeEvent(member, trigger, m.trigger or trigger, self.state.n_actions, stored_proposal))
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
            self.event_log.append(NoteEvent(regressions))
        self.event_log.commit()
        for accepted in self.state.accepted_versions[n_accepted:]:
            self._predictor.drop_worker(member)
            self.git.save(accepted.member, accepted.hypothesis, accepted.iteration, accepted.message, time=accepted.time)
        return verdict

    def _judge(self, member: int, candidate: Hypothesis) -> Judgement:
        mind = self.mind
        if mind is None or not mind.proposes:
            return judge_by_citations(candidate)
        case = self.build_case(member)
        judgement = mind_call.call_mind(self.event_log, mind, self._get_member(member), "judge", case, candidate)
        assert isinstance(judgement, Judgement), "an answer to another question"
        return judgement

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
        n_actions = self.state.n_actions
        self._plan_cache = {k: entry for k, entry in self._plan_cache.items() if entry[0][1] == n_actions}  # the others are stale
        self._plan_cache[key] = (cache_stamp, self._append_plan_event(member, result, subgoal), result)
        return result

    def draw(self, plans: Mapping[int, Plan | NoPlan]) -> int | None:
        """Draw one class of identical nonempty plans (Eq. 32-33); it is followed next. None: nobody has a plan.

        Uniformly; under the policy `disagree`, the one on which members part most tellingly, and soonest
        (population.choose_disagreement). Raises RefusedError for a plan that is not what `plan` gave, from here, in the program
        that stands now.
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
        disagreement = self._choose_disagreement(plans, include_single_actions=False)
        chosen = None if disagreement is None else disagreement.class_index
        class_index = population.draw_class(groups, self.seed, self.state.n_draws) if chosen is None else chosen
        driver = groups[class_index][0]
        self._activate_plan(*current_plans[driver], groups, class_index)
        return driver

    def find_disagreement_probe(self, plans: Mapping[int, Plan | NoPlan]) -> tuple[Probe, int] | None:
        """Find, under the policy `disagree`, an action that begins none of these plans and tells more than any, or tells it sooner.

        Returned with the member to send it for. None: draw a plan.
        """
        way = self._choose_disagreement(plans, include_single_actions=True)
        return None if way is None else make_probe(way)

    def _choose_disagreement(
        self, plans: Mapping[int, Plan | NoPlan], include_single_actions: bool
    ) -> DisagreementCandidate | None:
        self._require_running()
        if self.policy != population.DISAGREE:
            return None
        members = {m.index: m.version for m in self.state.members if m.admissible}
        programs = {member: self._get_program(member) for member in members}
        stamp = (self.state.n_actions, tuple(members.items()))
        return self._disagreement_finder.choose(stamp, programs, self.record.current, plans, include_single_actions)

    def _find_current_plan(self, m: Member, subgoal_source: str | None) -> tuple[int, Plan] | None:
        """The event of this member's plan (to the subgoal with that source) and the plan: made from here, by what stands now."""
        entries = [self._plan_cache.get((m.index, subgoal_source, frontier), (None, -1, None)) for frontier in (False, True)]
        cache_stamp, seq, plan = next((entry for entry in entries if isinstance(entry[2], Plan)), entries[0])
        if not m.admissible or not isinstance(plan, Plan) or cache_stamp is None or seq not in self.state.open_plans:
            return None
        return (seq, plan) if cache_stamp[:2] == (m.version, self.state.n_actions) else None

    def _activate_plan(self, seq: int, plan: Plan, groups: list[list[int]], class_index: int) -> None:
        # each step is checked against it, after a resume too
        self.event_log.append(store_draw(self.event_log.ledger, groups, class_index, seq, plan.predictions))

    def _append_plan_event(self, member: int, result: Plan | NoPlan, subgoal: Subgoal | None) -> int:
        return self.event_log.append(store_plan(self.event_log.ledger, member, result, subgoal)).seq

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
            halt = self._plan_roller.roll_on(active)
            if halt is not None:
                last_result = replace(halt, observation=last_result.observation)
                break
            action = active.executable.get_action(active.n_sent)
            fault = self._executor.validate(action)
            if fault is not None:  # the world no longer accepts what was planned
                self._executor.falsify(active.member, Verdict(VerdictKind.FAULT, fault.reason, fault=fault))
                last_result = ExecutionResult((), None, None, (active.member,), fault.reason)
                break
            context = (ActionKind.PLAN, active.member, active.plan_seq, active.question, self._plan_roller.get_expected(active))
            last_result = self._executor.act(action, *context)
            sent_actions += last_result.actions
        self.event_log.commit()
        return replace(last_result, actions=tuple(sent_actions))

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
        """Send a mind's probe; RESET as its action starts the level anew, for a mind that sees no other way on."""
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

    def open(self, opening: OpenEvent | None = None) -> None:
        """Write the OPEN event (unless it stands already) and take the first observation (H_0), which costs nothing."""
        if len(self.record):
            raise RefusedError("The run has been opened; what starts a level anew is a reset, and costs an action.")
        if opening is not None:
            self.event_log.append(opening)
            self.event_log.commit()
        self._executor.open()
        self.event_log.commit()

    def settle_in_doubt(self) -> None:
        """Settle what a crash has left: an action in doubt is sent again (its intent is on disk, and the world was rebuilt without
        it); without one, what follows from the last observation is seen to."""
        intent = self.state.intent
        if intent is not None:
            ledger = self.event_log.ledger
            predictions = {m: load_prediction(ledger, outcome) for m, outcome in intent.predictions.items()}
            self._executor.send(intent.action, predictions, intent.member)
        else:
            self._executor.after_observation()
        self.event_log.commit()

    # -- closing -------------------------------------------------------------------------------------------------------------

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
