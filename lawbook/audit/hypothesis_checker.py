"""What members believed and planned, told a second time from the events of a run: the half of the trail about hypotheses."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from lawbook.core import validation
from lawbook.core.hypothesis import Decision, Hypothesis, Proposal, misshapen
from lawbook.core.record import Action, Record, Status
from lawbook.core.results import Counterexample, Judgement, Outcome, Verdict
from lawbook.ledger.codec import actions_of, pack_judgement, proposal_of
from lawbook.ledger.git_versions import Saved
from lawbook.ledger.ledger import Event, Ledger
from lawbook.minds.base import judge_by_trace
from lawbook.planning import disagreement, population
from lawbook.protocols import gate
from lawbook.protocols.protocol import Protocol

Place = tuple[int, int]
"""How long a record was: (trajectories, steps of the last)."""
Find = Callable[[str, str], None]
"""Told of a line of the audit and of what is not right about the present event."""


@dataclass(frozen=True)
class Life:
    """A version while it might steer: from its acceptance until it fell, was replaced, or the ledger ends.

    accepted: the event of its verdict. until: the record that it must reproduce. fatal: (trajectory, step, frame, status) that it
    is recorded to have predicted where it fell, None where it fell in another way or did not.
    """

    member: int
    version: int
    hypothesis: Hypothesis
    accepted: int
    until: Place
    fatal: tuple[int, int, str, Status] | None = None


@dataclass(frozen=True)
class Refusal:
    """A proposal that its replay refused, on the record as it stood; or its judge, after a replay that held (UNFAITHFUL)."""

    seq: int
    hypothesis: Hypothesis
    at: Place
    verdict: Verdict


@dataclass
class Planned:
    """A plan, by which version and from where; hypothesis: what it was made in, None for one that no program was asked about.
    certified: it claims that there is no shorter one, after a search of so many nodes. ahead: frames it is predicted to show, once
    it was drawn."""

    seq: int
    member: int
    version: int
    hypothesis: Hypothesis | None
    at: Place
    actions: tuple[Action, ...]
    subgoal: str | None
    question: str
    certified: bool = False
    nodes: int = 0
    ahead: tuple[str, ...] = ()


@dataclass(frozen=True)
class Chosen:
    """What the policy `disagree` chose from there: one of several classes of plans, or to send one action first (a trial).

    beliefs: what each member that might steer believed; plans: one of each class, in their order. plan: index of the class that was
    drawn, None for a trial; action, member, question: of the trial.
    """

    seq: int
    at: Place
    beliefs: Mapping[int, Hypothesis]
    plans: tuple[tuple[Action, ...], ...]
    plan: int | None
    action: Action | None = None
    member: int | None = None
    question: str = ""


@dataclass
class Believer:
    """One member. admissible: may it steer? answers: of its mind, by operation, that have had no consequence yet; asked: how many
    there were."""

    hypothesis: Hypothesis | None = None
    admissible: bool = False
    version: int = 0
    accepted: int = -1
    proposal: Proposal | None = None
    proposed: int = -1
    answers: dict[str, Mapping[str, Any]] = field(default_factory=dict)
    asked: int = 0
    failed: list[tuple[Hypothesis, int]] = field(default_factory=list)


class Beliefs:
    """Members, their versions and plans. Fed by the trail, event by event; what is wrong is told to `find`.

    accepted: every version, as the git memory must hold it. lives, refusals, plans, chosen: what a strict audit runs again.
    """

    def __init__(self, ledger: Ledger, record: Record, rules: Protocol, run: Mapping[str, Any], find: Find) -> None:
        self.ledger, self.record, self.rules, self.run, self._find = ledger, record, rules, run, find
        self.members = [Believer() for _ in range(run["population"])]
        self.accepted: list[Saved] = []
        self.lives: list[Life] = []
        self.refusals: list[Refusal] = []
        self.plans: list[Planned] = []
        self.chosen: list[Chosen] = []
        self.active: tuple[Planned, int] | None = None
        self.falls = self.proposals = self.draws = 0
        self._fresh: dict[int, Planned] = {}
        self._drawn_here = False

    @property
    def place(self) -> Place:
        return len(self.record), len(self.record.here) if len(self.record) else 0

    def resumed(self) -> None:
        """What was planned is not compared with what is predicted from here on: a resumed run did not have it."""
        self._drawn_here = False

    # -- proposals -----------------------------------------------------------------------------------------------------------

    def proposed(self, event: Event) -> None:
        """One that has no verdict when the next comes was cut short, by a crash or whoever proposed, and replaced nothing."""
        body = event.body
        member = self.members[body["member"]]
        if body["at"] != self.record.actions:
            self._find("counts", f"claims {body['at']} actions sent, and {self.record.actions} are on record")
        member.proposal, member.proposed = validation.proposal(proposal_of(self.ledger, body)), event.seq
        asked = member.answers.get("propose")
        said = {name: body[name] for name in ("decision", "rulebook", "files", "diagnosis", "unusable") if name in body}
        if asked is not None and dict(asked) != said:
            self._find("verdicts", "is not what the mind had answered")
        member.answers.pop("judge", None)
        self.proposals += 1

    def settled(self, event: Event, verdict: Verdict) -> None:
        """The gate's answer: the rules that need no replay are asked again here, those that do by a strict audit."""
        index = event.body["member"]
        member, proposal = self.members[index], self.members[index].proposal
        if proposal is None:
            self._find("verdicts", f"judges a proposal of member {index}, and there is none")
            return
        member.proposal, tried = None, proposal.applied_to(member.hypothesis)
        self._ruled(member, proposal, tried, verdict)
        if not verdict.admissible:
            if verdict.outcome is not Outcome.REFUSED:
                member.failed.append((tried, self.record.actions))
                self.refusals.append(Refusal(event.seq, tried, self.place, verdict))
            return
        if tried == member.hypothesis and member.admissible:
            return
        self.buried(index, self.place)
        if tried != member.hypothesis:
            member.version += 1
            message = proposal.diagnosis or proposal.decision.value
            self.accepted.append(Saved(index, member.version, tried, message, event.time))
            if self.active is not None and self.active[0].member == index:
                self.active = None
        member.hypothesis, member.admissible, member.accepted = tried, True, event.seq

    def _ruled(self, member: Believer, proposal: Proposal, tried: Hypothesis, verdict: Verdict) -> None:
        """What is refused unread breaks a rule; what is not breaks none, and is judged as its judge had said."""
        broken = proposal.unusable or gate.broken_rule(self.rules, member.hypothesis, member.admissible, proposal)
        if not broken and proposal.decision is not Decision.RETAIN:
            broken = misshapen(tried) or (
                "It failed before, on this record." if (tried, self.record.actions) in member.failed else None
            )
        called = f"calls proposal {member.proposed} {verdict.outcome}"
        if (verdict.outcome is Outcome.REFUSED) != bool(broken):
            self._find("verdicts", f"{called}, and {f'the gate refuses it: {broken}' if broken else 'nothing forbids it'}")
        judged = self.rules.needs_fidelity and proposal.decision is not Decision.RETAIN
        if not judged or verdict.outcome not in (Outcome.ADMISSIBLE, Outcome.UNFAITHFUL):
            return
        said, asked = verdict.judgement, member.answers.get("judge")
        if said is None or said.faithful is not verdict.admissible:
            self._find("verdicts", f"{called} without a judgement that says so")
        elif pack_judgement(said) != pack_judgement(Judgement(**asked) if asked is not None else judge_by_trace(tried)):
            self._find("verdicts", f"{called} by another judgement than its judge gave")

    # -- falls ---------------------------------------------------------------------------------------------------------------

    def fell(self, index: int, verdict: Verdict, expected: Counterexample | None) -> None:
        """A wrong prediction, or a program that failed. expected: what the comparison finds, where it was asked again."""
        member, example = self.members[index], verdict.counterexample
        self.falls += 1
        if not member.admissible:
            self._find("predictions", f"falsifies member {index}, of which nothing stood")
        if expected is not None:
            if example is None or _told(example) != _told(expected):
                self._find("predictions", f"tells of member {index}'s wrong prediction otherwise than the comparison does")
        else:
            if (verdict.outcome, example is None) not in ((Outcome.FAULT, True), (Outcome.COUNTEREXAMPLE, False)):
                self._find("predictions", f"falsifies member {index} and does not say by what")
            elif example is not None and (example.trajectory + 1, example.step) != self.place:
                self._find("predictions", f"tells of a wrong prediction of member {index} that is not of now")
            trajectories, steps = self.place
            self.buried(index, (trajectories, steps) if verdict.fault and steps else (trajectories, steps - 1))
        member.admissible = False
        if self.active is not None and self.active[0].member == index:
            self.active = None

    def buried(self, index: int, until: Place, fatal: tuple[int, int, str, Status] | None = None) -> None:
        """The life of what stands ends here."""
        member = self.members[index]
        if member.admissible and member.hypothesis is not None and member.accepted >= 0:
            self.lives.append(Life(index, member.version, member.hypothesis, member.accepted, until, fatal))
            member.accepted = -1

    # -- plans ---------------------------------------------------------------------------------------------------------------

    def planned(self, event: Event) -> None:
        body = event.body
        member = self.members[body["member"]]
        if not member.admissible and (self.rules.needs_hypothesis or body.get("method") != "given"):
            self._find("plans", f"is a plan of member {body['member']}, of which nothing admissible stood")
        if body["actions"] is None:
            return
        subgoal = None if body["subgoal"] is None else self.ledger.text(body["subgoal"])
        tried = member.hypothesis if member.admissible else None
        actions, question = actions_of(body["actions"]), body["question"]
        certified, nodes = body["certified"], body["nodes"]
        if certified is not False and (certified is not True or body["cut"] is not None or (actions and body["method"] != "bfs")):
            self._find("plans", f"calls a plan the shortest that was found by {body['method']} (cut: {body['cut']})")
        made = (event.seq, body["member"], member.version, tried, self.place, actions, subgoal, question)
        plan = Planned(*made, certified=certified is True, nodes=int(nodes))
        self._fresh[plan.seq] = plan
        self.plans.append(plan)

    @property
    def disagrees(self) -> bool:
        """The policy of the run is `disagree`."""
        return bool(self.run.get("policy", population.UNIFORM) == population.DISAGREE)

    def drawn(self, event: Event) -> None:
        body = event.body
        groups, drawn, plan = body["classes"], body["drawn"], self._fresh.get(body["plan"])
        if plan is None or plan.member not in groups[drawn]:
            self._find("plans", f"draws plan {body['plan']}, which was not made from there, or by nobody of its class")
            self.active = None
            return
        if plan.version != self.members[plan.member].version:
            self._find("plans", f"draws a plan of version {plan.version} of member {plan.member}, which was replaced since")
        if groups != [[plan.member]] or drawn:  # else it is the only class, or what a caller executes
            classes = self._classes()
            if groups != classes:
                self._find("plans", f"draws among the classes {groups}, and the plans make {classes}")
            if self.disagrees:
                self._chose(event.seq, drawn)
            elif drawn != population.draw(groups, self.run["seed"], self.draws):
                self._find("plans", f"draws class {drawn} of {groups}, which is not what the seed draws")
        plan.ahead, self._drawn_here = tuple(body.get("ahead", ())), True
        if len(plan.ahead) not in (0, len(plan.actions)):
            self._find("plans", f"foretells {len(plan.ahead)} frames of a plan of {len(plan.actions)} actions")
        self.draws += 1
        self.active = (plan, 0) if plan.actions else None
        self._fresh.clear()

    def tried(self, seq: int, action: Action, member: int, question: str) -> None:
        """A probe that no mind's answer asked for. One that says that members dispute it is held against what they foresee."""
        if self.disagrees and disagreement.asked(question):
            self._chose(seq, None, action, member, question)

    def _chose(self, seq: int, plan: int | None, *trial: Any) -> None:
        beliefs = {k: m.hypothesis for k, m in enumerate(self.members) if m.admissible and m.hypothesis is not None}
        plans = tuple(self._ways())
        if len(plans) > 1:
            self.chosen.append(Chosen(seq, self.place, beliefs, plans, plan, *trial))
        elif plan is None:
            self._find("plans", "sends an action on which members are said to part, and their plans do not")

    def _classes(self) -> list[list[int]]:
        """Members by identical plans to the goal, each the last that it made from here (Eq. 32)."""
        return list(self._ways().values())

    def _ways(self) -> dict[tuple[Action, ...], list[int]]:
        latest = {plan.member: plan for plan in self._fresh.values() if plan.subgoal is None}
        classes: dict[tuple[Action, ...], list[int]] = {}
        for index in sorted(latest):
            member, plan = self.members[index], latest[index]
            if member.admissible and plan.version == member.version and plan.actions:
                classes.setdefault(plan.actions, []).append(index)
        return classes

    def steers(self, body: Mapping[str, Any], action: Action, predictions: Mapping[int, tuple[str, Status]]) -> None:
        """A step of a plan: of the plan that was drawn, by a version that still stands, and as it was planned."""
        index, member = body["member"], self.members[body["member"]]
        refusal = gate.refuses_plan(self.rules, member.admissible)
        if refusal:
            self._find("plans", f"follows a plan of member {index}, which may not steer: {refusal}")
        if self.active is None or self.active[0].seq != body["plan"]:
            self._find("plans", f"follows plan {body['plan']}, which was not drawn, or is over")
            return
        plan, at = self.active
        if (plan.member, plan.question) != (index, body["question"]):
            self._find("plans", f"follows plan {plan.seq} for another member or question than planned it")
        if plan.version != member.version:
            self._find("plans", f"follows a plan of version {plan.version}, and version {member.version} stands")
        if plan.actions[at] != action:
            self._find("plans", f"sends {action} where plan {plan.seq} has {plan.actions[at]}")
        if self._drawn_here and plan.ahead and index in predictions and predictions[index][0] != plan.ahead[at]:
            self._find("plans", f"predicts another frame for action {at + 1} of plan {plan.seq} than was planned")

    def acted(self, plan: int | None, goes_on: bool) -> None:
        """An action has been observed. plan: whose step it was; goes_on: the level is still running."""
        self._fresh.clear()
        if self.active is not None:
            active, at = self.active
            follows = plan == active.seq and at + 1 < len(active.actions)
            self.active = (active, at + 1) if follows and goes_on else None


def _told(example: Counterexample) -> tuple[Any, ...]:
    """A counterexample without its words, which another version may choose otherwise."""
    names = ("trajectory", "step", "level", "action", "expected", "predicted", "cells", "regions")
    return tuple(getattr(example, name) for name in names)
