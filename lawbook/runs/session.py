"""One live run: the operations that the loop and the doors share. Only here are hypotheses accepted and actions let through."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal, overload

from lawbook.core import validation
from lawbook.core.hypothesis import Hypothesis, Proposal
from lawbook.core.record import RESET, Action
from lawbook.core.results import Fault, Judgement, Limits, NoPlan, Outcome, Plan, Prediction, Probe, Sent, Subgoal, Verdict
from lawbook.errors import HostError, MindError, RefusedError
from lawbook.ledger.codec import exploration_of, pack_plan, pack_proposal, proposal_of
from lawbook.ledger.git_versions import GitMemory
from lawbook.ledger.ledger import Kind
from lawbook.minds.base import Case, Mind, Why, judge_by_trace
from lawbook.planning import disagreement, population
from lawbook.planning.live_prediction import Forecast, patiently
from lawbook.planning.planner import find_plan, roll
from lawbook.planning.regression import regress, report
from lawbook.protocols import gate
from lawbook.protocols.protocol import Protocol
from lawbook.runs import mind_call, record_scripts
from lawbook.runs.acceptance import examine
from lawbook.runs.action_executor import Hand
from lawbook.runs.case_builder import build_case
from lawbook.runs.event_log import Journal
from lawbook.runs.mind_tools import Desk
from lawbook.runs.queries import Reading
from lawbook.runs.state import Ending, Member, Sort
from lawbook.sandbox.host import Host, Program
from lawbook.verification.replay import verify
from lawbook.worlds.world import World

DECLARED = (Ending.FINISHED, Ending.STUCK, Ending.IN_DOUBT)
"""Endings that `finish` takes; the others follow from what was observed."""


class Session(Reading):
    """A run that is open: a fold over its journal, with a world, a host and (for our loop) a mind.

    budget: actions in all (B), resets included; seed: of every draw; limits: of every search, but for the depth (the budget left);
    policy: how one of several classes of plans is taken (population.POLICIES).
    """

    def __init__(
        self,
        journal: Journal,
        world: World,
        host: Host,
        git: GitMemory,
        mind: Mind | None,
        rules: Protocol,
        *,
        budget: int,
        seed: int,
        limits: Limits | None = None,
        policy: str = population.UNIFORM,
    ) -> None:
        self.journal, self.world, self.host, self.git, self.mind, self.rules = journal, world, host, git, mind, rules
        self.budget, self.seed, self.limits, self.policy = budget, seed, limits or Limits(), policy
        self._forecast = Forecast(host)
        self._hand = Hand(journal, world, self._forecast, budget=budget, compares=rules.compares)
        self._found: dict[tuple[int, str | None], tuple[tuple[int, int, Limits], int, Plan | NoPlan]] = {}
        self._rolled: Sequence[Prediction] = ()

    # -- whose turn it is ---------------------------------------------------------------------------------------------------

    def wonder(self) -> list[int]:
        """Admissible members not yet asked, on this state of the record, why nobody has a plan. They are due now."""
        asked = [m for m in self.state.members if m.admissible and m.thought_at != self.state.sent]
        for m in asked:
            m.why = Why.NO_PLAN  # no event: a resumed run comes to the same question by planning again
        return [m.index for m in asked]

    def explorer(self) -> int | None:
        """Whose mind explores: an admissible member, else any, drawn. None: nothing may be sent any more without a model."""
        allowed = self.rules.allowance(self.budget)
        if not self.admissible() and allowed is not None and self.state.unpredicted >= allowed:
            return None
        members = self.admissible() or [m.index for m in self.state.members]
        return population.explorer(members, self.seed, self.state.sent)

    def case(self, member: int, why: Why | None = None) -> Case:
        """What this member's mind is shown."""
        self._member(member)
        desk = Desk(self.journal, member, self.python, lambda *given: self.simulate(given[0], member, *given[1:]), self.prefix)
        case = build_case(self.state, self.world.spec, self.rules, member=member, budget=self.budget, seed=self.seed, why=why)
        return replace(case, desk=desk)

    def python(self, code: str) -> str:
        """What `code` prints, run over the record in the sandbox (analysis.GUIDE says what it finds there). Changes nothing."""
        return record_scripts.run(self.host, self.record, validation.words(code, "The code"))

    # -- asking the mind -----------------------------------------------------------------------------------------------------

    @overload
    def ask(self, member: int, op: Literal["propose"]) -> Proposal: ...
    @overload
    def ask(self, member: int, op: Literal["explore"]) -> Subgoal | Probe: ...
    def ask(self, member: int, op: Literal["propose", "explore"]) -> Proposal | Subgoal | Probe:
        """The mind's answer: from the ledger if a crash came before it had any consequence, else asked for and written down."""
        ledger, mind = self.journal.ledger, self.mind
        if mind is None:
            raise MindError("No mind is at work in this run; propose and act through its doors.")
        self._require_open()
        case = self.case(member, Why.EXPLORE if op == "explore" else None)
        answer = mind_call.answer(self.journal, mind, self._member(member), op, case)
        return proposal_of(ledger, answer) if op == "propose" else exploration_of(ledger, answer)

    def refuse(self, member: int, reason: str) -> None:
        """Tell a mind that its exploration cannot be used. Too often on one record, and the run is stuck."""
        self._require_open()
        self._member(member)
        self.journal.verdict(member, "explore", Verdict(Outcome.REFUSED, validation.words(reason, "The reason of a refusal")))
        self.journal.commit()
        if self.state.members[member].refusals >= gate.ROUNDS:
            self.finish(Ending.STUCK, f"No usable exploration in {gate.ROUNDS} answers; the last was refused: {reason}")

    # -- believing -----------------------------------------------------------------------------------------------------------

    def propose(self, proposal: Proposal, member: int = 0) -> Verdict:
        """The only way to an accepted hypothesis. A refusal replaces nothing.

        The proposal is in the ledger before it is looked at, what is looked at is what the ledger holds, and the verdict is there
        before this returns. Raises RefusedError for what is no proposal at all.
        """
        self._require_open()
        m, proposal = self._member(member), validation.proposal(proposal)
        if m.proposal is None or m.proposal[1] != proposal:  # else a crash came between this proposal and its verdict
            why = self.case(member).why
            body = {"member": member, "why": why.value, "cause": (m.why or why).value, "at": self.state.sent}
            self.journal.append(Kind.PROPOSE, {**body, **pack_proposal(self.journal.ledger, proposal)})
            self.journal.commit()
        accepted, began = len(self.state.accepted), time.perf_counter()
        assert m.proposal is not None
        verdict = examine(m.proposal[1], m, self.record, self.host, self.rules, lambda tried: self._judge(member, tried))
        verdict = replace(verdict, seconds=time.perf_counter() - began)
        lost = self._lost(m, m.proposal[1].applied_to(m.hypothesis)) if verdict.admissible else ""
        self.journal.verdict(member, "proposal", verdict)
        if lost:  # in one transaction with the verdict: a crash between the two would keep it from the mind for good
            self.journal.append(Kind.NOTE, {"text": lost})
        self.journal.commit()
        for saved in self.state.accepted[accepted:]:
            self._forecast.drop(member)
            self.git.save(saved.member, saved.hypothesis, saved.iteration, saved.message, time=saved.time)
        return verdict

    def _lost(self, m: Member, tried: Hypothesis) -> str:
        """What to tell of completed levels that a changed program sees no way through any more; empty when there is nothing."""
        if not self.state.completed or (m.hypothesis is not None and tried.same_program(m.hypothesis)):
            return ""
        found = [
            regress(self._loaded(m.index, hypothesis), self.record, self.world.spec.clicks)
            for hypothesis in (m.hypothesis, tried)
            if hypothesis is not None
        ]
        return report({one.level for one in found[0] if one.planned is not None}, found[-1])

    def _judge(self, member: int, tried: Hypothesis) -> Judgement:
        mind = self.mind
        if mind is None or not mind.proposes:
            return judge_by_trace(tried)
        return Judgement(**mind_call.answer(self.journal, mind, self._member(member), "judge", self.case(member), tried))

    def verify(self, member: int = 0) -> Verdict:
        """Replay the whole record once more with this member's program. Changes nothing. Raises RefusedError without a program."""
        return verify(self._program(member), self.record, compares=self.rules.compares)

    def simulate(
        self, actions: Sequence[Action], member: int = 0, trajectory: int = -1, step: int | None = None
    ) -> tuple[Prediction, ...]:
        """What this member's program says `actions` would show, from the present or from after `step` actions of a trajectory.

        Any program that was once accepted may be asked, falsified or not. Nothing is sent. Raises RefusedError.
        """
        rolled = patiently(
            roll, self._program(member), self.prefix(trajectory, step), [validation.action(action) for action in actions]
        )
        if isinstance(rolled, Fault):
            raise RefusedError(f"The program fails on those actions: {rolled.reason}")
        return rolled[0]

    # -- planning ------------------------------------------------------------------------------------------------------------

    def plan(self, member: int = 0, subgoal: Subgoal | None = None, limits: Limits | None = None) -> Plan | NoPlan:
        """The shortest way this member sees, within the remaining budget, to its goal or to a subgoal (Eq. 26).

        A program that fails while it is searched, or plans what the world does not accept, is falsified by that. Raises
        RefusedError without an admissible program, in a level that is over, and for a subgoal whose own source fails.
        """
        self._require_running()
        m = self._member(member)
        subgoal = None if subgoal is None else validation.subgoal(subgoal)
        bounds = self.limits if limits is None else validation.limits(limits)
        if not m.admissible:
            raise RefusedError("There is no admissible program to plan in; propose one that verifies on the whole record.")
        depth = self.left if bounds.depth is None else min(self.left, bounds.depth)
        key, present = (member, subgoal.source if subgoal else None), (m.version, self.state.sent, bounds)
        if key in self._found and self._found[key][0] == present:
            _, seq, known = self._found[key]
            if isinstance(known, Plan) and seq not in self.state.plans:  # another's draw has used up its event
                self._found[key] = (present, self._plan_event(member, known, subgoal), known)
            return known
        program, here, clicks = self._program(member), self.record.here, self.world.spec.clicks
        found = patiently(find_plan, program, here, replace(bounds, depth=depth), key[1], clicks)
        if isinstance(found, Plan):
            found = self._hand.unsendable(*found.actions) or found
        if isinstance(found, Fault):
            if found.kind == "subgoal":
                raise RefusedError(f"The subgoal itself fails: {found.reason}")
            self._hand.falsify(member, Verdict(Outcome.FAULT, f"While planning: {found.reason}", fault=found))
            self.journal.commit()
            return NoPlan(found.reason, False, None, 0, 0.0)
        self._found = {one: kept for one, kept in self._found.items() if kept[0][1] == self.state.sent}  # the others are stale
        self._found[key] = (present, self._plan_event(member, found, subgoal), found)
        return found

    def draw(self, plans: Mapping[int, Plan | NoPlan]) -> int | None:
        """Draw one class of identical nonempty plans (Eq. 32-33); it is followed next. None: nobody has a plan.

        Uniformly; under the policy `disagree`, the one on which members part most tellingly, and soonest (population.disputed).
        Raises RefusedError for a plan that is not what `plan` gave, from here, in the program that stands now.
        """
        self._require_running()
        found: dict[int, tuple[int, Plan]] = {}
        for member, plan in plans.items():
            if isinstance(plan, Plan):
                known = self._of_now(self._member(member), None)
                if known is None or known[1] is not plan:
                    raise RefusedError("A plan that is not of now cannot be drawn; plan again, then draw.")
                found[member] = known
        groups = population.classes({member: plan for member, (_, plan) in found.items()})
        if not groups:
            return None
        way = self._disputed(plans, singles=False)
        drawn = population.draw(groups, self.seed, self.state.draws) if way is None or way.plan is None else way.plan
        driver = groups[drawn][0]
        self._drive(*found[driver], groups, drawn)
        return driver

    def doubt(self, plans: Mapping[int, Plan | NoPlan]) -> tuple[Probe, int] | None:
        """Under the policy `disagree`: an action that begins none of these plans and tells more than any, or as much and sooner,
        with the member to send it for. None: draw a plan."""
        way = self._disputed(plans, singles=True)
        return None if way is None or way.plan is not None else (Probe(way.actions[0], disagreement.question(way)), way.parts[0][0])

    def _disputed(self, plans: Mapping[int, Plan | NoPlan], singles: bool) -> population.Way | None:
        self._require_running()
        found = {member: plan for member, plan in plans.items() if isinstance(plan, Plan)}
        groups = population.classes(found)
        if self.policy != population.DISAGREE or len(groups) < 2:
            return None
        programs = {member: self._program(member) for member in self.admissible()}
        tried = [found[group[0]].actions for group in groups]
        clicks = self.world.spec.clicks if singles else None
        return population.disputed(disagreement.ways(programs, self.record.here, tried, clicks))

    def _of_now(self, m: Member, source: str | None) -> tuple[int, Plan] | None:
        """The event of this member's plan (to the subgoal with that source) and the plan: made from here, by what stands now."""
        present, seq, plan = self._found.get((m.index, source), (None, -1, None))
        if not m.admissible or not isinstance(plan, Plan) or present is None or seq not in self.state.plans:
            return None
        return (seq, plan) if present[:2] == (m.version, self.state.sent) else None

    def _drive(self, seq: int, plan: Plan, groups: list[list[int]], drawn: int) -> None:
        self._rolled = plan.predictions
        ahead = [self.journal.ledger.put_frame(seen.frame) for seen in self._rolled]  # for whoever watches from elsewhere
        self.journal.append(Kind.DRAW, {"classes": groups, "drawn": drawn, "plan": seq, "ahead": ahead})

    def _plan_event(self, member: int, found: Plan | NoPlan, subgoal: Subgoal | None) -> int:
        return self.journal.append(Kind.PLAN, pack_plan(self.journal.ledger, member, found, subgoal)).seq

    # -- acting --------------------------------------------------------------------------------------------------------------

    def execute(self, actions: Sequence[Action], subgoal: Subgoal | None = None, member: int = 0) -> Sent:
        """Send a plan, one action at a time, each predicted on disk before it is sent; the first mismatch stops it.

        It must be predicted to end in the goal, or in the named subgoal (not asked under vanilla). Raises RefusedError otherwise.
        """
        self._require_running()
        m, sequence = self._member(member), validation.actions(actions)
        subgoal = None if subgoal is None else validation.subgoal(subgoal)
        unsendable = self._hand.unsendable(*sequence)
        refusal = gate.refuses_plan(self.rules, m.admissible) or gate.refuses_length(len(sequence), self.left)
        if refusal or unsendable:
            raise RefusedError(refusal or (unsendable.reason if unsendable else ""))
        known = self._of_now(m, subgoal.source if subgoal else None)
        if known is None or known[1].actions != sequence:
            plan = self._rolled_out(m, sequence, subgoal)
            known = self._plan_event(member, plan, subgoal), plan
        self._drive(*known, [[member]], 0)
        return self.follow()

    def _rolled_out(self, m: Member, actions: tuple[Action, ...], subgoal: Subgoal | None) -> Plan:
        """Somebody's own sequence as a plan: rolled in a fresh worker, it must end where it is said to end."""
        if not m.admissible:
            return Plan(actions, (), False, None, 0, 0.0, "given")
        rolled = patiently(roll, self._program(m.index), self.record.here, actions, subgoal.source if subgoal else None)
        if isinstance(rolled, Fault):
            raise RefusedError(f"The program fails on that plan: {rolled.reason}")
        predictions, holds = rolled
        refusal = gate.refuses_end([seen.status for seen in predictions], holds, "the named subgoal" if subgoal else "the goal")
        if refusal and self.rules.needs_hypothesis:
            raise RefusedError(refusal)
        return Plan(actions, predictions, False, None, 0, 0.0, "given")

    def follow(self) -> Sent:
        """Go on with the plan that was drawn until it ends, any member is falsified, or the run ends."""
        self._require_open()
        sent: list[Action] = []
        last = Sent((), None)
        while (active := self.state.active) is not None and not self.ended and not last.halted:
            action = active.actions[active.at]
            unsendable = self._hand.unsendable(action)
            if unsendable is not None:  # the world no longer accepts what was planned
                self._hand.falsify(active.member, Verdict(Outcome.FAULT, unsendable.reason, fault=unsendable))
                last = Sent((), None, None, (active.member,), unsendable.reason)
                break
            expected = self._rolled[active.at] if active.at < len(self._rolled) else None
            last = self._hand.act(action, Sort.PLAN, active.member, active.plan, active.question, expected)
            sent += last.actions
        self.journal.commit()
        return replace(last, actions=tuple(sent))

    def probe(self, action: Action, question: str, member: int = 0) -> Sent:
        """Send one action to learn something; predicted where this member is admissible, else taken from the allowance."""
        self._require_running()
        action, question = validation.action(action), validation.words(question, "The question of a probe")
        unsendable = Fault("action", "A reset is no probe; use reset and give the reason.") if action == RESET else None
        unsendable = unsendable or self._hand.unsendable(action)
        predicted = self._member(member).admissible
        refusal = gate.refuses_probe(self.rules, predicted, self.state.unpredicted, self.budget, question)
        if refusal or unsendable:
            raise RefusedError(unsendable.reason if unsendable else refusal)
        sent = self._hand.act(action, Sort.PROBE, member, None, question)
        self.journal.commit()
        return sent

    def try_out(self, probe: Probe, member: int = 0) -> Sent:
        """A mind's probe; RESET as its action starts the level anew, for a mind that sees no other way on."""
        if probe.action == RESET:
            return self.reset(probe.question, member=member)
        return self.probe(probe.action, probe.question, member)

    def reset(self, reason: str, whole: bool = False, member: int | None = None) -> Sent:
        """Start the level anew. Costs an action. Refused when it would restart the whole game, unless `whole` says it is meant.

        member: whose mind asked for it; None: the level was over.
        """
        self._require_open()
        reason = validation.words(reason, "The reason of a reset")
        refusal = gate.refuses_reset(self.record, whole)
        if refusal:
            raise RefusedError(refusal)
        sent = self._hand.act(RESET, Sort.RESET, member, question=reason)
        self.journal.commit()
        return sent

    def open(self, opening: Mapping[str, Any] | None = None) -> None:
        """Write the OPEN event (unless it stands already) and take the first observation (H_0), which costs nothing."""
        if len(self.record):
            raise RefusedError("The run has been opened; what starts a level anew is a reset, and costs an action.")
        if opening is not None:
            self.journal.append(Kind.OPEN, opening)
            self.journal.commit()
        self._hand.open()
        self.journal.commit()

    def resend(self) -> None:
        """Settle what a crash has left: an action in doubt is sent again (its intent is on disk, and the world was rebuilt without
        it); without one, what follows from the last observation is seen to."""
        intent = self.state.intent
        if intent is not None:
            ledger = self.journal.ledger
            predictions = {m: Prediction(ledger.frame(frame), status) for m, (frame, status) in intent.predictions.items()}
            self._hand.deliver(intent.action, predictions, intent.member)
        else:
            self._hand.conclude()
        self.journal.commit()

    # -- closing -------------------------------------------------------------------------------------------------------------

    def note(self, text: str) -> None:
        """Keep a sentence for later calls of the mind."""
        self._require_open()
        self.journal.append(Kind.NOTE, {"text": validation.words(text, "A note")})
        self.journal.commit()

    def finish(self, ending: Ending, sentence: str) -> None:
        """End the run for good. Raises RefusedError for an ending that is not for anybody to declare."""
        if not isinstance(ending, Ending) or ending not in DECLARED:
            raise RefusedError(f"How a run ends shows in its record; what can be declared is {', '.join(DECLARED)}.")
        self.journal.finish(ending, validation.words(sentence, "The reason of an ending"))

    def close(self) -> None:
        """Let go of workers, world and ledger. Nothing is lost: the run can be resumed unless it has ended."""
        try:
            self.journal.commit()
        finally:
            self._forecast.close()
            self.world.close()
            self.journal.ledger.close()

    # -- inside --------------------------------------------------------------------------------------------------------------

    def _program(self, member: int) -> Program:
        hypothesis = self._member(member).hypothesis
        if hypothesis is None:
            raise RefusedError("There is no program yet; propose one.")
        return self._loaded(member, hypothesis)

    def _loaded(self, member: int, hypothesis: Hypothesis) -> Program:
        program = self._forecast.program(member, hypothesis)
        if isinstance(program, Fault):
            raise HostError(f"A program that was accepted does not load any more ({program.reason}); resume the run to try again.")
        return program

    def _require_open(self) -> None:
        if self.ended:
            raise RefusedError(f"The run has ended ({self.ended}); start another.")
        if self.state.intent is not None:
            raise RefusedError(f"What became of action {self.state.intent.action} is in doubt; resume the run to settle it.")

    def _require_running(self) -> None:
        self._require_open()
        if self.record.needs_reset:
            raise RefusedError("The level is over; only a reset makes sense now.")
