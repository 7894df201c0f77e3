"""A long run for the viewer's tests, written through the ledger's own door in seconds: real events, made-up world."""

from __future__ import annotations

import random
from dataclasses import asdict
from pathlib import Path

import numpy as np

from lawbook.core.hypothesis import ENGINE, Decision, Proposal, Trigger
from lawbook.core.record import Action, ActionKind, Frame, Observation, Status
from lawbook.core.results import Counterexample, MismatchRegion, RunOutcome, Verdict, VerdictKind
from lawbook.ledger.contents import store_observation, store_proposal
from lawbook.ledger.events import (
    AnyEvent,
    CallEvent,
    CloseEvent,
    DrawEvent,
    IntendEvent,
    OpenEvent,
    PlanEvent,
    PredictedOutcome,
    ProposeEvent,
    RecordedSandbox,
    VerdictEvent,
)
from lawbook.ledger.ledger import Ledger
from lawbook.ledger.opening import RecordedSettings, RecordedSpec
from lawbook.runs.folder import RunConfig, RunFolder
from lawbook.worlds.world import WorldSpec

SIZE, PER_LEVEL, PLAN, MISS = 64, 250, 10, 7
"""Cells a side, actions a level, actions of a plan, and every which plan ends in a wrong prediction."""


def write(out: Path, actions: int, *, animation: int = 2, close: bool = True, seed: int = 0) -> RunFolder:
    """A run of so many actions below `out`: plans of ten actions, one in seven of which ends in a wrong prediction that a new
    version explains; a level every 250 actions. animation: frames that most observations have. close: it was won at the end."""
    levels = -(-actions // PER_LEVEL)
    folder = RunFolder.create(out, RunConfig("demo:maze?seed=0", budget=actions))
    with Ledger.create(folder.ledger) as ledger:
        _Run(ledger, random.Random(seed), animation).play(folder.load_config(), actions, levels, close)
    return folder


class _Run:
    def __init__(self, ledger: Ledger, choice: random.Random, animation: int) -> None:
        self.ledger, self.choice, self.animation = ledger, choice, animation
        self.x, self.y, self.level, self.trajectory, self.step, self.version = 30, 30, 0, 0, 0, 0
        self.sent = 0
        self.clock = 1_700_000_000.0

    def play(self, config: RunConfig, actions: int, levels: int, close: bool) -> None:
        spec = WorldSpec((SIZE, SIZE), (1, 2, 3, 4), levels=levels, baselines=(PER_LEVEL // 2,) * levels, baseline="human")
        sandbox = RecordedSandbox("strong", {})
        self._event(OpenEvent(RecordedSettings(asdict(config)), RecordedSpec(asdict(spec)), {"lawbook": "0"}, sandbox))
        self._observe(None, Status.RUNNING)
        self._propose(Trigger.START)
        for sent in range(actions):
            if sent % PLAN == 0:
                planned = [self._towards() for _ in range(min(PLAN, actions - sent))]
                wrong = sent // PLAN % MISS == MISS - 1
                plan = self._event(PlanEvent(0, None, "", 50, 0.01, None, tuple(planned), certified=True, method="bfs"))
                self._event(DrawEvent(((0,),), 0, plan))
            self._send(planned[sent % PLAN], plan, wrong and sent % PLAN == PLAN - 1, (sent + 1) % PER_LEVEL == 0)
            if sent % 200 == 199:
                self.ledger.commit()
        if close:
            self._event(CloseEvent(RunOutcome.WON, "The last level is completed.", self.ledger.head))
        self.ledger.commit()

    def _send(self, action: Action, plan: int, wrong: bool, completes: bool) -> None:
        before = self._frame()
        self._move(action)
        after, status = self._frame(), Status.COMPLETED if completes else Status.RUNNING
        if completes:
            self.level += 1
        predicted = self.ledger.put_frame(before if wrong else after)
        self._event(IntendEvent(action, ActionKind.PLAN, 0, plan, "", {0: PredictedOutcome(predicted, frozenset({status}))}))
        self.step += 1
        step, trajectory = self.step, self.trajectory
        self._observe(action, status)
        if completes:
            self.trajectory, self.step = self.trajectory + 1, 0
        elif wrong:
            example = Counterexample(
                trajectory, step, self.level, action, status, status, 32,
                (MismatchRegion(self.y, self.x, self.y + 3, self.x + 3, 32, (5,), (9,), (5,)),), "32 of 4096 cells are wrong.",
            )  # fmt: skip
            verdict = Verdict(VerdictKind.COUNTEREXAMPLE, example.text, example)
            self._event(VerdictEvent(0, "prediction", verdict))
            self._propose(Trigger.MISMATCH)

    def _propose(self, why: Trigger) -> None:
        self.version += 1
        rules = "".join(f"R{k}. Law number {k}, as known since version {self.version - self.version % k}.\n" for k in range(1, 9))
        code = "".join(
            f"def law_{k}(state):  # R{k}\n    return state + {self.version - self.version % k}\n\n" for k in range(1, 9)
        )
        tokens = 2000 + self.choice.randrange(500)
        stored = store_proposal(self.ledger, Proposal(Decision.REVISE_RULEBOOK, rules, {ENGINE: code}, "It was told otherwise."))
        receipt = {"tokens": tokens, "dollars": tokens / 1e6}
        self._event(CallEvent(0, self.version - 1, "propose", stored, 1.5, receipt))
        self._event(ProposeEvent(0, why, why, self.sent, stored))
        self._event(VerdictEvent(0, "proposal", Verdict(VerdictKind.ADMISSIBLE, replayed=self.step)))

    def _towards(self) -> Action:
        return Action(self.choice.randrange(1, 5))

    def _move(self, action: Action) -> None:
        dx, dy = {1: (0, -1), 2: (0, 1), 3: (-1, 0), 4: (1, 0)}[action.id]
        self.x, self.y = (self.x + dx) % (SIZE - 4), (self.y + dy) % (SIZE - 8)

    def _frame(self, shade: int = 9) -> Frame:
        frame = np.full((SIZE, SIZE), 5, np.uint8)
        frame[::8, :] = frame[:, ::8] = 4
        frame[self.y : self.y + 4, self.x : self.x + 4] = shade
        frame[-3:, : self.level * 3 % SIZE] = 14
        frame[-3:, -1 - self.step % 40 :] = 8
        return frame

    def _observe(self, action: Action | None, status: Status) -> None:
        frames = [*(self._frame(10 + k % 4) for k in range(self.animation if action else 0)), self._frame()]
        observation = Observation(tuple(frames), status, self.level, (1, 2, 3, 4))
        self._event(store_observation(self.ledger, observation, action, self.trajectory))
        self.sent += action is not None

    def _event(self, event: AnyEvent) -> int:
        self.clock += 0.05
        return self.ledger.write(event, now=self.clock).seq
