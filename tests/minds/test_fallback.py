"""A mind with help: who may help whom, who is asked and how often, and that what help cost is told."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest
from lakes import LAKE, TRUE
from minds import Scripted, as_proposal

from lawbook.core.hypothesis import Hypothesis, Proposal, Trigger
from lawbook.core.record import Action, Record
from lawbook.core.results import Judgement, Probe, RunOutcome, Subgoal
from lawbook.errors import UsageError
from lawbook.ledger.events import EventKind
from lawbook.ledger.ledger import Event
from lawbook.minds.base import Case, Interface
from lawbook.minds.fallback import FallbackMind, make_mind_with_fallback
from lawbook.runs.folder import RunConfig
from lawbook.runs.lifecycle import resume_run, start_run
from lawbook.runs.loops.memento3 import play
from lawbook.sandbox.host import Host

CASE = Case(Interface((4, 4), (1, 2, 3, 4), (), 1), Record(1), Trigger.START, None, False, None, "", 9, 9, 0, 1, 0, 0)
USELESS = Subgoal("", "", unusable="It said nothing.")


class Counted(Scripted):
    """Tells what it was asked, and what that cost; its proposals differ from one another, as a model's do."""

    def __init__(self, name: str, *given: object, cost: Mapping[str, float | int | str] | None = None, **more: object) -> None:
        super().__init__(*given, **more)  # type: ignore[arg-type]
        self.name, self.cost = name, cost if cost is not None else {"requests": 1, "dollars": 0.25}
        self.ops: list[str] = []

    def propose(self, case: Case) -> Proposal:
        self.ops.append("propose")
        said = as_proposal(case, TRUE)
        return replace(said, rulebook=f"{said.rulebook}\nThought no. {len(self.ops)}.\n")

    def judge(self, case: Case, hypothesis: Hypothesis) -> Judgement:
        self.ops.append("judge")
        return super().judge(case, hypothesis)

    def explore(self, case: Case) -> Subgoal | Probe:
        self.ops.append("explore")
        return super().explore(case)

    def receipt(self) -> Mapping[str, float | int | str]:
        return self.cost


# -- who may help ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("helps", [{"seed_with": "induce"}, {"fallback": "random"}, {"seed_with": "induce", "fallback": "induce"}])
def test_an_agent_at_the_wheel_takes_no_help(helps: dict[str, str]) -> None:
    with pytest.raises(UsageError, match=r"coder:claude drives the run itself .* leave out --seed-with and --fallback"):
        make_mind_with_fallback("coder:claude", **helps)
    assert make_mind_with_fallback("coder:claude").drives  # type: ignore[attr-defined]


@pytest.mark.parametrize("option", ["--seed-with", "--fallback"])
def test_an_agent_helps_nobody(option: str) -> None:
    helps = {option.strip("-").replace("-", "_"): "coder:codex"}
    with pytest.raises(UsageError, match=f"coder:codex drives runs and answers no question; name another mind with {option}"):
        make_mind_with_fallback("induce", **helps)


def test_who_proposes_nothing_seeds_nothing() -> None:
    with pytest.raises(UsageError, match="random proposes no hypotheses"):
        make_mind_with_fallback("induce", seed_with="random")


# -- who judges what was seeded ----------------------------------------------------------------------------------------------


def test_a_seed_is_asked_for_its_hypothesis_once_and_judges_it() -> None:
    mind, seed = Counted("mind"), Counted("seed")
    helped = FallbackMind(mind, seed=seed)
    proposal = helped.propose(CASE)
    assert helped.receipt() == {"requests": 1, "dollars": 0.25, "seeded_by": "seed"}
    assert helped.judge(CASE, proposal.apply_to(None)).faithful
    assert helped.receipt()["seeded_by"] == "seed"
    assert seed.ops == ["propose", "judge"] and mind.ops == []


def test_what_a_seed_did_not_write_the_mind_judges() -> None:
    mind, seed = Counted("mind"), Counted("seed")
    helped = FallbackMind(mind, seed=seed)
    helped.propose(CASE)
    helped.judge(CASE, TRUE)  # another text than the seed's
    helped.judge(replace(CASE, member=1), TRUE)  # another member, for whom it wrote nothing
    assert seed.ops == ["propose"] and mind.ops == ["judge", "judge"]
    assert helped.receipt() == {"requests": 1, "dollars": 0.25}


class StoppedError(Exception):
    pass


@pytest.mark.parametrize(("free", "judge"), [(False, "mind"), (True, "seed")])
def test_after_a_resume_a_seed_is_asked_again_only_where_it_is_free(tmp_path: Path, host: Host, free: bool, judge: str) -> None:
    """The run breaks off between the seeded proposal and its judgement."""

    class Free(Counted):
        free = True

        def propose(self, case: Case) -> Proposal:
            self.ops.append("propose")
            return as_proposal(case, TRUE)

    def minds() -> tuple[FallbackMind, dict[str, Counted]]:
        both = {"mind": Counted("mind"), "seed": (Free if free else Counted)("seed")}
        return FallbackMind(both["mind"], seed=both["seed"]), both

    def stop(event: Event) -> None:
        if event.kind is EventKind.PROPOSE:
            raise StoppedError

    with (
        pytest.raises(StoppedError),
        start_run(RunConfig(LAKE), tmp_path, host=host, mind=minds()[0], listener=stop) as (folder, session),
    ):
        play(session)
    helped, both = minds()
    with resume_run(folder, host=host, mind=helped) as session:
        assert play(session) is RunOutcome.WON
    assert both["seed"].ops == (["propose", "judge"] if free else [])
    assert both[judge].ops[-1] == "judge"


# -- what help cost ------------------------------------------------------------------------------------------------------------


def test_the_cost_of_everybody_who_was_asked_is_told_and_of_nobody_else() -> None:
    mind = Counted("mind", explores=[USELESS], cost={"requests": 2, "dollars": 0.5, "prompt": "p1"})
    other = Counted("other", explores=[Probe(Action(1), "?")])
    helped = FallbackMind(mind, fallback=other)
    assert helped.explore(CASE) == Probe(Action(1), "?")
    assert helped.receipt() == {"requests": 3, "dollars": 0.75, "prompt": "p1", "fallback": "other"}
    helped.explore(replace(CASE, refusal="no"))
    assert helped.receipt() == {"requests": 1, "dollars": 0.25, "fallback": "other"} and mind.ops == ["explore"]
    assert helped.receipt() == {}


def test_help_that_costs_nothing_is_marked_and_is_no_request() -> None:
    helped = FallbackMind(Counted("mind"), seed=Counted("seed", cost={}))
    helped.propose(CASE)
    assert helped.receipt() == {"seeded_by": "seed", "requests": 0}
