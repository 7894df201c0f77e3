"""One action, whole: predict, write the intent down, send, write down what came back, compare. The only way to the world."""

from __future__ import annotations

import signal
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from lawbook.core.hypothesis import Hypothesis
from lawbook.core.record import RESET, Action, Observation, Status
from lawbook.core.results import Counterexample, Fault, Outcome, Prediction, Sent, Verdict
from lawbook.ledger.codec import pack_action
from lawbook.ledger.ledger import Kind, pack_observation
from lawbook.planning.live_prediction import Forecast, patiently
from lawbook.runs.event_log import Journal
from lawbook.runs.state import Ending, Sort
from lawbook.verification.determinism import DeterminismWatch
from lawbook.verification.replay import compare
from lawbook.worlds.world import World, refuses_action


class Hand:
    """Sends actions to the world for a session. budget: actions in all; compares: what a prediction is compared on."""

    def __init__(self, journal: Journal, world: World, forecast: Forecast, *, budget: int, compares: tuple[str, ...]) -> None:
        self.journal, self.world, self.forecast = journal, world, forecast
        self.budget, self.compares = budget, compares
        self._watch = DeterminismWatch()
        completed = False
        for index, trajectory in enumerate(journal.state.record):
            if not completed:
                self._watch.opened(index, trajectory.first)
            completed = trajectory.last.status is Status.COMPLETED
            for action, observation in trajectory.steps:
                self._watch.see(index, trajectory.first, action, observation)

    def unsendable(self, *actions: Action) -> Fault | None:
        """Why these cannot be sent from here: only of the first is it known whether the world accepts it then."""
        for k, action in enumerate(actions):
            refusal = refuses_action(self.world.spec, self.journal.state.record.here.last, action, now=k == 0)
            if refusal:
                return Fault("action", refusal)
        return None

    def act(
        self,
        action: Action,
        sort: Sort,
        member: int | None = None,
        plan: int | None = None,
        question: str = "",
        expected: Prediction | None = None,
    ) -> Sent:
        """Send one action. `member` acts, following `plan` (an event) or asking `question`; `expected`: what the plan predicted.

        Every admissible member predicts first; one that cannot, or that does not predict again what it planned, is falsified by
        that, and then nothing is sent.
        """
        predictions: dict[int, Prediction] = {}
        try:
            if action != RESET:
                predictions, failed = self._predict(action, member, expected)
                for index, verdict in failed.items():
                    self.falsify(index, verdict)
                if failed:
                    for index in predictions:  # they stand behind an action that is not sent
                        self.forecast.drop(index)
                    return Sent((), None, None, tuple(failed), "a program could not predict the next action")
            put = self.journal.ledger.put_frame
            body = {"action": pack_action(action), "sort": sort.value, "member": member, "plan": plan, "question": question}
            packed = {str(index): [put(seen.frame), seen.status.value] for index, seen in predictions.items()}
            self.journal.append(Kind.INTEND, {**body, "predictions": packed})
            self.journal.commit()  # one durable write: the outcome before, and this prediction, before the action is sent
        except BaseException:  # interrupted: workers may stand behind an action that was never announced
            self.forecast.close()
            raise
        return self.deliver(action, predictions, member)

    def open(self) -> None:
        """The first observation (H_0). Costs nothing."""
        observation = self.world.reset()
        with self.journal.whole():
            self._receive(None, observation, {}, None)

    def deliver(self, action: Action, predictions: Mapping[int, Prediction] | None = None, member: int | None = None) -> Sent:
        """Send an action whose intent is on disk, and write down what comes back. Also how an action in doubt is sent again."""
        with uninterrupted():  # an outcome that has been paid for is not lost to a Ctrl-C
            try:
                observation = self.world.reset() if action == RESET else self.world.step(action)
                with self.journal.whole():
                    return self._receive(action, observation, predictions or {}, member)
            except BaseException:
                if self.journal.state.intent is not None:  # it may have been sent: then the world is ahead of its record
                    self.world.close()
                raise

    def falsify(self, member: int, verdict: Verdict) -> None:
        """A wrong prediction, by whoever: this member does not steer again until it has been mended."""
        self.journal.verdict(member, "prediction", verdict)
        self.forecast.drop(member)

    def _predict(
        self, action: Action, driver: int | None, expected: Prediction | None
    ) -> tuple[dict[int, Prediction], dict[int, Verdict]]:
        """What every admissible member predicts, and what is to be said of those who could not."""
        predictions: dict[int, Prediction] = {}
        failed: dict[int, Verdict] = {}
        for m in self.journal.state.members:
            if not m.admissible or m.hypothesis is None:
                continue
            seen = patiently(self._stepped, m.index, m.hypothesis, action)
            if isinstance(seen, Prediction) and m.index == driver and expected is not None and not _same(seen, expected):
                seen = Fault("unrepeatable", "Planned, it showed one thing, and stepped again, another; make step repeatable.")
            match seen:
                case Prediction():
                    predictions[m.index] = seen
                case Counterexample():
                    failed[m.index] = Verdict(Outcome.COUNTEREXAMPLE, seen.text, seen)
                case Fault():
                    reason = f"Asked to predict action {action}: {seen.reason}"
                    failed[m.index] = Verdict(Outcome.FAULT, reason, fault=seen)
        return predictions, failed

    def _stepped(self, member: int, hypothesis: Hypothesis, action: Action) -> Prediction | Counterexample | Fault:
        """What a member predicts of `action`. One that has to be brought here first must show here what is seen here."""
        parted = None if self.forecast.stands(member) else self._entered(member, hypothesis)
        return parted or self.forecast.step(member, action)

    def _entered(self, member: int, hypothesis: Hypothesis) -> Counterexample | Fault | None:
        """Bring a member's worker to the present; None when it shows there what was observed."""
        record = self.journal.state.record
        here, step = record.here, len(record.here)
        seen = self.forecast.enter(member, hypothesis, here.first, here.actions)
        if isinstance(seen, Fault):
            return seen
        return compare(
            seen,
            here.last,
            trajectory=len(record) - 1,
            step=step,
            level=here.first.level,
            action=here.steps[-1][0] if step else None,
            before=here.settled[max(step - 1, 0)],
            compares=self.compares,
        )

    def _receive(
        self, action: Action | None, observation: Observation, predictions: Mapping[int, Prediction], driver: int | None
    ) -> Sent:
        """Write down what came back, compare it with every prediction, open the next trajectory if one begins. Commits nothing."""
        state, record = self.journal.state, self.journal.state.record
        opened = len(record)
        here = record.here if opened else None
        step = action is not None and action != RESET
        body = pack_observation(self.journal.ledger, observation, action, opened - 1 if step else opened)
        self.journal.append(Kind.OBSERVE, body)
        wrong: dict[int, Counterexample] = {}
        contradiction = None
        if here is not None and action is not None and step:
            for index, predicted in predictions.items():
                example = compare(
                    predicted,
                    observation,
                    trajectory=opened - 1,
                    step=len(here),
                    level=here.first.level,
                    action=action,
                    before=here.settled[len(here) - 1],
                    compares=self.compares,
                )
                if example is not None:
                    wrong[index] = example
            contradiction = self._watch.see(opened - 1, here.first, action, observation)
        elif unlike := self._watch.opened(opened, record.here.first):
            self.journal.append(Kind.NOTE, {"text": unlike})
        for index, example in wrong.items():
            self.falsify(index, Verdict(Outcome.COUNTEREXAMPLE, example.text, example))
        falsified = [*wrong, *self.conclude(contradiction.sentence if contradiction else "")]
        halted = "a prediction was wrong" if falsified else "the run has ended" if state.ending else ""
        mismatch = wrong.get(driver) if driver is not None else None
        return Sent(() if action is None else (action,), observation, mismatch, tuple(falsified), halted)

    def conclude(self, contradiction: str = "") -> list[int]:
        """What follows from the last observation: members enter a trajectory that begins, and a run that is over ends.

        Returns whom the new trajectory falsifies. Asked again it does nothing twice: a resumed run asks, since the observation may
        have been written down and the host have failed then. Raises HostError.
        """
        state = self.journal.state
        falsified = [] if len(state.record.here) else self._check_opening()
        if contradiction:
            self.journal.finish(Ending.NONDETERMINISTIC, contradiction)
        elif state.record.won:
            self.journal.finish(Ending.WON, "The last level is completed.")
        elif state.sent >= self.budget:
            self.journal.finish(Ending.BUDGET, f"All {self.budget} actions are spent.")
        return falsified

    def _check_opening(self) -> list[int]:
        """A trajectory begins: each member is initialised once from its first observation, and its first rendering is compared."""
        falsified = []
        for m in self.journal.state.members:
            if not m.admissible or m.hypothesis is None:
                continue
            match patiently(self._entered, m.index, m.hypothesis):
                case None:
                    continue
                case Fault() as fault:
                    verdict = Verdict(Outcome.FAULT, f"At the start of a trajectory: {fault.reason}", fault=fault)
                case example:
                    verdict = Verdict(Outcome.COUNTEREXAMPLE, example.text, example)
            self.falsify(m.index, verdict)
            falsified.append(m.index)
        return falsified


@contextmanager
def uninterrupted() -> Iterator[None]:
    """Hold Ctrl-C and SIGTERM back for as long as an action is in flight; they take effect right afterwards."""
    held: list[int] = []
    try:
        before = {name: signal.getsignal(name) for name in (signal.SIGINT, signal.SIGTERM)}
        for name in before:
            signal.signal(name, lambda number, frame: held.append(number))
    except ValueError:  # not the main thread: signals are not ours to hold
        before = {}
    try:
        yield
    finally:
        for name, handler in before.items():
            signal.signal(name, handler)
        for number in held[:1]:
            signal.raise_signal(number)  # to whoever it was meant for, the system's own way with it included


def _same(one: Prediction, two: Prediction) -> bool:
    return one.status is two.status and bool((one.frame == two.frame).all())
