"""One live run: the operations that the loop and the doors share. Only here are hypotheses accepted and actions let through."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal, overload

from lawbook import gate, population
from lawbook.answers import Fault, Judgement, Limits, NoPlan, Outcome, Plan, Prediction, Probe, Sent, Subgoal, Verdict
from lawbook.cases import build_case
from lawbook.errors import HostError, MindError, RefusedError
from lawbook.forecast import Forecast
from lawbook.hand import Hand
from lawbook.host.host import Host, Program
from lawbook.hypothesis import Hypothesis, Proposal
from lawbook.journal import Journal
from lawbook.memory.bodies import exploration_of, pack_action, pack_exploration, pack_proposal, proposal_of
from lawbook.memory.git import GitMemory
from lawbook.memory.ledger import Kind
from lawbook.minds.mind import Case, Mind, Why, judge_by_trace
from lawbook.plan import find_plan, roll
from lawbook.record import RESET, Action, Record
from lawbook.state import Ending, Member, Sort, State
from lawbook.trial import examine
from lawbook.verify import verify
from lawbook.worlds.world import World


class Session:
    """A run that is open: a fold over its journal, with a world, a host and (for our loop) a mind.

    budget: actions in all (B), resets included; seed: of every draw; limits: of every search, but for the depth (the budget left).
    """

    def __init__(
        self,
        journal: Journal,
        world: World,
        host: Host,
        git: GitMemory,
        mind: Mind | None,
        rules: gate.Protocol,
        *,
        budget: int,
        seed: int,
        limits: Limits | None = None,
    ) -> None:
        self.journal, self.world, self.host, self.git, self.mind, self.rules = journal, world, host, git, mind, rules
        self.budget, self.seed, self.limits = budget, seed, limits or Limits()
        self._forecast = Forecast(host)
        self._hand = Hand(journal, world, self._forecast, budget=budget, compares=rules.compares)
        self._found: dict[tuple[int, str | None], tuple[object, int, Plan | NoPlan]] = {}
        self._rolled: Sequence[Prediction] = ()

    # -- what there is ------------------------------------------------------------------------------------------------------

    @property
    def state(self) -> State:
        return self.journal.state

    @property
    def record(self) -> Record:
        return self.state.record

    @property
    def ended(self) -> Ending | None:
        return self.state.ending

    @property
    def left(self) -> int:
        """Actions that may still be sent."""
        return self.budget - self.state.sent

    @property
    def ahead(self) -> Sequence[Prediction]:
        """What the rest of the plan being followed is predicted to show; empty where nobody knows, as after a resume."""
        active = self.state.active
        return self._rolled[active.at :] if active else ()

    def admissible(self) -> list[int]:
        return [m.index for m in self.state.members if m.admissible]

    def due(self) -> list[int]:
        """Members whose mind is to reflect now. None where the protocol asks for no hypothesis."""
        if self.ended or not self.rules.needs_hypothesis:
            return []
        return [m.index for m in self.state.members if m.due]

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
        return build_case(self.state, self.world.spec, self.rules, member=member, budget=self.budget, seed=self.seed, why=why)

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
        if op == "propose":
            return proposal_of(ledger, self._asked(member, op, lambda: pack_proposal(ledger, mind.propose(self.case(member)))))
        case = self.case(member, Why.EXPLORE)
        return exploration_of(ledger, self._asked(member, op, lambda: pack_exploration(ledger, mind.explore(case))))

    def _asked(self, member: int, op: str, call: Callable[[], dict[str, Any]]) -> Mapping[str, Any]:
        m = self.state.members[member]
        if op not in m.pending:
            body: dict[str, Any] = {"member": member, "call": m.asked, "op": op, "answer": None}
            began = time.perf_counter()
            try:
                body["answer"] = call()
            finally:  # a call that failed has cost something too
                receipt = dict(self.mind.receipt()) if self.mind else {}
                self.journal.append(Kind.CALL, {**body, "seconds": time.perf_counter() - began, "receipt": receipt})
                self.journal.commit()
        answer: Mapping[str, Any] = m.pending[op].body["answer"]
        return answer

    def refuse(self, member: int, reason: str) -> None:
        """Tell a mind that its exploration cannot be used. Too often on one record, and the run is stuck."""
        self.journal.verdict(member, "explore", Verdict(Outcome.REFUSED, reason))
        self.journal.commit()
        if self.state.members[member].refusals >= gate.ROUNDS:
            self.finish(Ending.STUCK, f"No usable exploration in {gate.ROUNDS} answers; the last was refused: {reason}")

    # -- believing -----------------------------------------------------------------------------------------------------------

    def propose(self, proposal: Proposal, member: int = 0) -> Verdict:
        """The only way to an accepted hypothesis. A refusal replaces nothing.

        The proposal is in the ledger before it is looked at, and its verdict before this returns.
        """
        self._require_open()
        m = self.state.members[member]
        if m.proposal is None:  # else a crash came between a proposal and its verdict
            why = self.case(member).why
            body = {"member": member, "why": why.value, "cause": (m.why or why).value, "at": self.state.sent}
            self.journal.append(Kind.PROPOSE, {**body, **pack_proposal(self.journal.ledger, proposal)})
            self.journal.commit()
        accepted, began = len(self.state.accepted), time.perf_counter()
        verdict = examine(proposal, m, self.record, self.host, self.rules, lambda tried: self._judge(member, tried))
        self.journal.verdict(member, "proposal", replace(verdict, seconds=time.perf_counter() - began))
        self.journal.commit()
        for saved in self.state.accepted[accepted:]:
            self._forecast.drop(member)
            self.git.save(saved.member, saved.hypothesis, saved.iteration, saved.message, time=saved.time)
        return verdict

    def _judge(self, member: int, tried: Hypothesis) -> Judgement:
        mind = self.mind
        if mind is None or not mind.proposes:
            return judge_by_trace(tried)

        def judged() -> dict[str, Any]:
            found = mind.judge(self.case(member), tried)
            return {"faithful": found.faithful, "rules": dict(found.rules), "reason": found.reason}

        return Judgement(**self._asked(member, "judge", judged))

    def verify(self, member: int = 0) -> Verdict:
        """Replay the whole record once more with this member's program. Changes nothing. Raises RefusedError without a program."""
        return verify(self._program(member), self.record, compares=self.rules.compares)

    # -- planning ------------------------------------------------------------------------------------------------------------

    def plan(self, member: int = 0, subgoal: Subgoal | None = None, limits: Limits | None = None) -> Plan | NoPlan:
        """The shortest way this member sees, within the remaining budget, to its goal or to a subgoal (Eq. 26).

        A program that fails while it is searched, or plans what the world does not accept, is falsified by that. Raises
        RefusedError without an admissible program, in a level that is over, and for a subgoal whose own source fails.
        """
        self._require_running()
        m = self.state.members[member]
        if not m.admissible:
            raise RefusedError("There is no admissible program to plan in; propose one that verifies on the whole record.")
        bounds = limits or self.limits
        depth = self.left if bounds.depth is None else min(self.left, bounds.depth)
        key, present = (member, subgoal.source if subgoal else None), (m.version, self.state.sent, bounds)
        if key in self._found and self._found[key][0] == present:
            return self._found[key][2]
        found = find_plan(self._program(member), self.record.here, replace(bounds, depth=depth), key[1], self.world.spec.clicks)
        if isinstance(found, Plan):
            found = self._hand.unsendable(*found.actions) or found
        if isinstance(found, Fault):
            if found.kind == "subgoal":
                raise RefusedError(f"The subgoal itself fails: {found.reason}")
            self._hand.falsify(member, Verdict(Outcome.FAULT, f"While planning: {found.reason}", fault=found))
            self.journal.commit()
            return NoPlan(found.reason, False, None, 0, 0.0)
        self._found[key] = (present, self._plan_event(member, found, subgoal), found)
        return found

    def draw(self, plans: Mapping[int, Plan | NoPlan]) -> int | None:
        """Draw one class of identical nonempty plans uniformly (Eq. 32-33); it is followed next. None: nobody has a plan."""
        groups = population.classes({member: plan for member, plan in plans.items() if isinstance(plan, Plan)})
        if not groups:
            return None
        drawn = population.draw(groups, self.seed, self.state.draws)
        driver = groups[drawn][0]
        _, seq, plan = self._found[driver, None]
        self._drive(seq, plan, groups, drawn)
        return driver

    def _drive(self, seq: int, plan: Plan | NoPlan, groups: list[list[int]], drawn: int) -> None:
        self._rolled = plan.predictions if isinstance(plan, Plan) else ()
        self.journal.append(Kind.DRAW, {"classes": groups, "drawn": drawn, "plan": seq})

    def _plan_event(self, member: int, found: Plan | NoPlan, subgoal: Subgoal | None) -> int:
        body: dict[str, Any] = {
            "member": member,
            "subgoal": self.journal.ledger.put_text(subgoal.source) if subgoal else None,
            "question": subgoal.question if subgoal else "",
            "nodes": found.nodes,
            "seconds": found.seconds,
            "cut": found.cut,
        }
        if isinstance(found, Plan):
            body |= {"actions": [pack_action(a) for a in found.actions], "certified": found.certified, "method": found.method}
        else:
            body |= {"actions": None, "reason": found.reason, "exhausted": found.exhausted}
        return self.journal.append(Kind.PLAN, body).seq

    # -- acting --------------------------------------------------------------------------------------------------------------

    def execute(self, actions: Sequence[Action], subgoal: Subgoal | None = None, member: int = 0) -> Sent:
        """Send a plan, one action at a time, each predicted on disk before it is sent; the first mismatch stops it.

        It must be predicted to end in the goal, or in the named subgoal (not asked under vanilla). Raises RefusedError otherwise.
        """
        self._require_running()
        m, unsendable = self.state.members[member], self._hand.unsendable(*actions)
        refusal = gate.refuses_plan(self.rules, m.admissible) or gate.refuses_length(len(actions), self.left)
        if refusal or unsendable:
            raise RefusedError(refusal or (unsendable.reason if unsendable else ""))
        _, seq, plan = self._found.get((member, subgoal.source if subgoal else None), (None, -1, None))
        if seq not in self.state.plans or not isinstance(plan, Plan) or plan.actions != tuple(actions):
            plan = self._rolled_out(m, tuple(actions), subgoal)
            seq = self._plan_event(member, plan, subgoal)
        self._drive(seq, plan, [[member]], 0)
        return self.follow()

    def _rolled_out(self, m: Member, actions: tuple[Action, ...], subgoal: Subgoal | None) -> Plan:
        """Somebody's own sequence as a plan: rolled in a fresh worker, it must end where it is said to end."""
        if not m.admissible:
            return Plan(actions, (), False, None, 0, 0.0, "given")
        rolled = roll(self._program(m.index), self.record.here, actions, subgoal.source if subgoal else None)
        if isinstance(rolled, Fault):
            raise RefusedError(f"The program fails on that plan: {rolled.reason}")
        predictions, holds = rolled
        refusal = gate.refuses_end([seen.status for seen in predictions], holds, "the named subgoal" if subgoal else "the goal")
        if refusal and self.rules.needs_hypothesis:
            raise RefusedError(refusal)
        return Plan(actions, predictions, False, None, 0, 0.0, "given")

    def follow(self) -> Sent:
        """Go on with the plan that was drawn until it ends, any member is falsified, or the run ends."""
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
        unsendable = Fault("action", "A reset is no probe; use reset and give the reason.") if action == RESET else None
        unsendable = unsendable or self._hand.unsendable(action)
        predicted = self.state.members[member].admissible
        refusal = gate.refuses_probe(self.rules, predicted, self.state.unpredicted, self.budget, question)
        if refusal or unsendable:
            raise RefusedError(unsendable.reason if unsendable else refusal)
        sent = self._hand.act(action, Sort.PROBE, member, None, question)
        self.journal.commit()
        return sent

    def reset(self, reason: str, whole: bool = False) -> Sent:
        """Start the level anew. Costs an action. Refused when it would restart the whole game, unless `whole` says it is meant."""
        self._require_open()
        refusal = gate.refuses_reset(self.record, whole)
        if refusal:
            raise RefusedError(refusal)
        sent = self._hand.act(RESET, Sort.RESET, question=reason)
        self.journal.commit()
        return sent

    def open(self, opening: Mapping[str, Any] | None = None) -> None:
        """Write the OPEN event (unless it stands already) and take the first observation (H_0), which costs nothing."""
        if opening is not None:
            self.journal.append(Kind.OPEN, opening)
            self.journal.commit()
        self._hand.open()
        self.journal.commit()

    def resend(self) -> None:
        """Send again the action that a crash left in doubt: its intent is on disk, and the world was rebuilt without it."""
        intent = self.state.intent
        if intent is not None:
            ledger = self.journal.ledger
            predictions = {m: Prediction(ledger.frame(frame), status) for m, (frame, status) in intent.predictions.items()}
            self._hand.deliver(intent.action, predictions, intent.member)
            self.journal.commit()

    # -- closing -------------------------------------------------------------------------------------------------------------

    def note(self, text: str) -> None:
        """Keep a sentence for later calls of the mind."""
        self.journal.append(Kind.NOTE, {"text": text})
        self.journal.commit()

    def finish(self, ending: Ending, sentence: str) -> None:
        """End the run for good."""
        self.journal.finish(ending, sentence)

    def close(self) -> None:
        """Let go of workers, world and ledger. Nothing is lost: the run can be resumed unless it has ended."""
        self.journal.commit()
        self._forecast.close()
        self.world.close()
        self.journal.ledger.close()

    # -- inside --------------------------------------------------------------------------------------------------------------

    def _program(self, member: int) -> Program:
        hypothesis = self.state.members[member].hypothesis
        if hypothesis is None:
            raise RefusedError("There is no program yet; propose one.")
        program = self._forecast.program(member, hypothesis)
        if isinstance(program, Fault):
            raise HostError(f"A program that was accepted does not load any more ({program.reason}); resume the run to try again.")
        return program

    def _require_open(self) -> None:
        if self.ended:
            raise RefusedError(f"The run has ended ({self.ended}); start another.")

    def _require_running(self) -> None:
        self._require_open()
        if self.record.needs_reset:
            raise RefusedError("The level is over; only a reset makes sense now.")
