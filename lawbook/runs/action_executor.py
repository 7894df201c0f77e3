"""One action, whole: predict, write the intent down, send, write down what came back, compare. The only way to the world."""

from __future__ import annotations

import signal
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace

from lawbook.core.hypothesis import Hypothesis
from lawbook.core.record import RESET, Action, ActionKind, Observation, Status
from lawbook.core.results import Counterexample, ExecutionResult, Prediction, ProgramError, RunOutcome, Verdict, VerdictKind
from lawbook.ledger.contents import store_observation, store_prediction
from lawbook.ledger.events import IntendEvent, NoteEvent
from lawbook.planning.live_prediction import LivePredictor, retry_on_host_fault
from lawbook.protocols.protocol import Protocol
from lawbook.runs.event_log import EventLog
from lawbook.verification.comparison import claims_change, compare_prediction, is_unclaimed
from lawbook.verification.determinism import DeterminismChecker
from lawbook.worlds.world import World, explain_refusal


class ActionExecutor:
    """Sends actions to the world for a session. budget: actions in all; compared_fields: what a prediction is compared on."""

    def __init__(self, event_log: EventLog, world: World, predictor: LivePredictor, *, budget: int, protocol: Protocol) -> None:
        self.event_log, self.world, self.predictor = event_log, world, predictor
        self.budget, self.protocol = budget, protocol
        self._determinism_checker = DeterminismChecker(sees_animation=protocol.allows_open)
        previous_completed = False
        for index, trajectory in enumerate(event_log.state.record):
            if not previous_completed:
                self._determinism_checker.add_opening(index, trajectory.first)
            previous_completed = trajectory.last.status is Status.COMPLETED
            for action, observation in trajectory.steps:
                self._determinism_checker.add_step(index, trajectory.first, action, observation)

    def validate(self, *actions: Action) -> ProgramError | None:
        """Say why these cannot be sent from here: only of the first is it known whether the world accepts it then."""
        for k, action in enumerate(actions):
            refusal = explain_refusal(self.world.spec, self.event_log.state.record.current.last, action, check_availability=k == 0)
            if refusal:
                return ProgramError("action", refusal)
        return None

    def act(
        self,
        action: Action,
        kind: ActionKind,
        member: int | None = None,
        plan_seq: int | None = None,
        question: str = "",
        expected: Prediction | None = None,
    ) -> ExecutionResult:
        """Send one action. `member` acts, following `plan` (an event) or asking `question`; `expected`: what the plan predicted.

        Every admissible member predicts first; one that cannot, or that does not predict again what it planned, is falsified by
        that, and then nothing is sent.
        """
        predictions: dict[int, Prediction] = {}
        try:
            if action != RESET:
                predictions, failures = self._predict(action, member, expected)
                for index, verdict in failures.items():
                    self.falsify(index, verdict)
                if failures:
                    for index in predictions:  # they stand behind an action that is not sent
                        self.predictor.drop_worker(index)
                    return ExecutionResult((), None, None, tuple(failures), "a program could not predict the next action")
            outcomes = {m: store_prediction(self.event_log.ledger, prediction) for m, prediction in predictions.items()}
            self.event_log.append(IntendEvent(action, kind, member, plan_seq, question, outcomes))
            self.event_log.commit()  # one durable write: the outcome before, and this prediction, before the action is sent
        except BaseException:  # interrupted: workers may stand behind an action that was never announced
            self.predictor.close()
            raise
        return self.send(action, predictions, member)

    def open(self) -> None:
        """Open the world for the first observation (H_0). Costs nothing."""
        observation = self.world.reset()
        with self.event_log.batch():
            self._receive(None, observation, {}, None)

    def send(
        self, action: Action, predictions: Mapping[int, Prediction] | None = None, member: int | None = None
    ) -> ExecutionResult:
        """Send an action whose intent is on disk, and write down what comes back. Also how an action in doubt is sent again."""
        with defer_signals():  # an outcome that has been paid for is not lost to a Ctrl-C
            try:
                observation = self.world.reset() if action == RESET else self.world.step(action)
                with self.event_log.batch():
                    return self._receive(action, observation, predictions or {}, member)
            except BaseException:
                if self.event_log.state.intent is not None:  # it may have been sent: then the world is ahead of its record
                    self.world.close()
                raise

    def falsify(self, member: int, verdict: Verdict) -> None:
        """Falsify a member, whose prediction was wrong: it does not steer again until it has been mended."""
        self.event_log.append_verdict(member, "prediction", verdict)
        self.predictor.drop_worker(member)

    def _predict(
        self, action: Action, driver: int | None, expected: Prediction | None
    ) -> tuple[dict[int, Prediction], dict[int, Verdict]]:
        """What every admissible member predicts, and what is to be said of those who could not."""
        predictions: dict[int, Prediction] = {}
        failures: dict[int, Verdict] = {}
        for m in self.event_log.state.members:
            if not m.admissible or m.hypothesis is None:
                continue
            result = retry_on_host_fault(self._predict_step, m.index, m.hypothesis, action)
            if isinstance(result, Prediction) and m.index == driver and expected is not None and not result.is_same_as(expected):
                result = ProgramError(
                    "unrepeatable", "Planned, it showed one thing, and stepped again, another; make step repeatable."
                )
            if isinstance(result, Prediction) and m.index == driver:
                result = self._require_claim(result)
            match result:
                case Prediction():
                    predictions[m.index] = result
                case Counterexample():
                    failures[m.index] = Verdict(VerdictKind.COUNTEREXAMPLE, result.text, result)
                case ProgramError():
                    reason = f"Asked to predict action {action}: {result.reason}"
                    failures[m.index] = Verdict(VerdictKind.FAULT, reason, fault=result)
        return predictions, failures

    def _require_claim(self, prediction: Prediction) -> Prediction | ProgramError:
        """Refuse a prediction that claims no change, once the actions that may be sent without a claim are spent."""
        allowance = self.protocol.get_allowance(self.budget)
        if prediction.is_whole or allowance is None or self.event_log.state.n_unpredicted < allowance:
            return prediction
        if claims_change(prediction, self.event_log.state.record.current.last.frame):
            return prediction
        return ProgramError(
            "unclaimed",
            f"All {allowance} actions that may be sent without a claim are spent, and nothing that changes is claimed of this one; "
            "claim more of what it does.",
        )

    def _predict_step(self, member: int, hypothesis: Hypothesis, action: Action) -> Prediction | Counterexample | ProgramError:
        """What a member predicts of `action`. One that has to be brought here first must show here what is seen here."""
        mismatch = None if self.predictor.has_worker(member) else self._sync_worker(member, hypothesis)
        current = self.event_log.state.record.current
        return mismatch or self.predictor.predict_step(member, action, current.last if len(current) else None)

    def roll_on(
        self, member: int, actions: tuple[Action, ...], subgoal: str | None
    ) -> tuple[tuple[Prediction, ...], bool | None] | Counterexample | ProgramError:
        """Roll the rest of a plan with all that a member has seen until now: what it predicts, and does that end in its aim?

        See planner.roll. A Counterexample: its program does not show here what is seen here.
        """
        hypothesis = self.event_log.state.members[member].hypothesis
        assert hypothesis is not None
        mismatch = None if self.predictor.has_worker(member) else self._sync_worker(member, hypothesis)
        return mismatch or self.predictor.roll_on(member, actions, self.event_log.state.record.current.last, subgoal)

    def _sync_worker(self, member: int, hypothesis: Hypothesis) -> Counterexample | ProgramError | None:
        """Bring a member's worker to the present; None when it shows there what was observed."""
        record = self.event_log.state.record
        current, step = record.current, len(record.current)
        seen = current.observations[:-1]
        prediction = self.predictor.start_worker(member, hypothesis, current.first, current.actions, seen)
        if isinstance(prediction, ProgramError):
            return prediction
        return compare_prediction(
            prediction,
            current.last,
            trajectory=len(record) - 1,
            step=step,
            level=current.first.level,
            action=current.steps[-1][0] if step else None,
            before=current.settled_frames[max(step - 1, 0)],
            compared_fields=self.protocol.compared_fields,
        )

    def _receive(
        self, action: Action | None, observation: Observation, predictions: Mapping[int, Prediction], driver: int | None
    ) -> ExecutionResult:
        """Write down what came back, compare it with every prediction, open the next trajectory if one begins. Commits nothing."""
        state, record = self.event_log.state, self.event_log.state.record
        n_trajectories = len(record)
        current = record.current if n_trajectories else None
        is_step = action is not None and action != RESET
        trajectory = n_trajectories - 1 if is_step else n_trajectories
        prediction = predictions.get(driver) if driver is not None else None
        before = current.last.frame if is_step and current is not None else None
        unclaimed = before is not None and prediction is not None and is_unclaimed(prediction, before, observation)
        observed = store_observation(self.event_log.ledger, observation, action, trajectory)
        self.event_log.append(replace(observed, is_unclaimed=unclaimed))
        counterexamples: dict[int, Counterexample] = {}
        contradiction, was_told = None, self._determinism_checker.has_contradiction
        if current is not None and action is not None and is_step:
            for index, prediction in predictions.items():
                counterexample = compare_prediction(
                    prediction,
                    observation,
                    trajectory=n_trajectories - 1,
                    step=len(current),
                    level=current.first.level,
                    action=action,
                    before=current.settled_frames[len(current) - 1],
                    compared_fields=self.protocol.compared_fields,
                )
                if counterexample is not None:
                    counterexamples[index] = counterexample
            contradiction = self._determinism_checker.add_step(n_trajectories - 1, current.first, action, observation)
        elif difference := self._determinism_checker.add_opening(n_trajectories, record.current.first):
            self.event_log.append(NoteEvent(difference))
        for index, counterexample in counterexamples.items():
            self.falsify(index, Verdict(VerdictKind.COUNTEREXAMPLE, counterexample.text, counterexample))
        if contradiction is not None and self.protocol.allows_open:  # what led elsewhere may show nowhere; a program can say so
            if not was_told:
                self.event_log.append(NoteEvent(contradiction.sentence))
            contradiction = None
        falsified = [*counterexamples, *self.after_observation(contradiction.sentence if contradiction else "")]
        halt_reason = "a prediction was wrong" if falsified else "the run has ended" if state.outcome else ""
        mismatch = counterexamples.get(driver) if driver is not None else None
        return ExecutionResult(() if action is None else (action,), observation, mismatch, tuple(falsified), halt_reason)

    def after_observation(self, contradiction: str = "") -> list[int]:
        """Do what follows from the last observation: members enter a trajectory that begins, and a run that is over ends.

        Returns whom the new trajectory falsifies. Asked again it does nothing twice: a resumed run asks, since the observation may
        have been written down and the host have failed then. Raises HostError.
        """
        state = self.event_log.state
        falsified = [] if len(state.record.current) else self._check_trajectory_start()
        if contradiction:
            self.event_log.finish(RunOutcome.NONDETERMINISTIC, contradiction)
        elif state.record.is_won:
            self.event_log.finish(RunOutcome.WON, "The last level is completed.")
        elif state.n_actions >= self.budget:
            self.event_log.finish(RunOutcome.BUDGET, f"All {self.budget} actions are spent.")
        return falsified

    def _check_trajectory_start(self) -> list[int]:
        """A trajectory begins: each member is initialised once from its first observation, and its first rendering is compared."""
        falsified = []
        for m in self.event_log.state.members:
            if not m.admissible or m.hypothesis is None:
                continue
            match retry_on_host_fault(self._sync_worker, m.index, m.hypothesis):
                case None:
                    continue
                case ProgramError() as fault:
                    verdict = Verdict(VerdictKind.FAULT, f"At the start of a trajectory: {fault.reason}", fault=fault)
                case counterexample:
                    verdict = Verdict(VerdictKind.COUNTEREXAMPLE, counterexample.text, counterexample)
            self.falsify(m.index, verdict)
            falsified.append(m.index)
        return falsified


@contextmanager
def defer_signals() -> Iterator[None]:
    """Hold Ctrl-C and SIGTERM back for as long as an action is in flight; they take effect right afterwards."""
    pending_signals: list[int] = []
    try:
        previous_handlers = {signal_number: signal.getsignal(signal_number) for signal_number in (signal.SIGINT, signal.SIGTERM)}
        for signal_number in previous_handlers:
            signal.signal(signal_number, lambda pending_number, frame: pending_signals.append(pending_number))
    except ValueError:  # not the main thread: signals are not ours to hold
        previous_handlers = {}
    try:
        yield
    finally:
        for signal_number, handler in previous_handlers.items():
            signal.signal(signal_number, handler)
        for pending_number in pending_signals[:1]:
            signal.raise_signal(pending_number)  # to whoever it was meant for, the system's own way with it included
