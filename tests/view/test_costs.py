"""What a run's model cost, as `show` tells it: by call, by level, by action; failures, retries and unknown prices included."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from lakes import LAKE, NO_HOLES, TRUE
from thinking import DownError, Thinking

from lawbook.cli import main
from lawbook.ledger.ledger import Ledger
from lawbook.runs.folder import RunConfig, RunFolder
from lawbook.runs.lifecycle import resume_run, start_run
from lawbook.runs.loops.memento3 import play
from lawbook.sandbox.host import Host
from lawbook.view.costs import LevelCosts, ModelCosts, ModelCostsBuilder
from lawbook.view.display_events import MindCalled
from lawbook.view.metrics import compute_metrics


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunFolder]:
    """Thirteen or so calls of a model, the second of which failed; the run was resumed after that."""
    with Host() as host:
        dying = Thinking([NO_HOLES, TRUE], dies=lambda number: number == 2)
        out, config = tmp_path_factory.mktemp("runs"), RunConfig(LAKE, seed=1)
        with start_run(config, out, host=host, mind=dying) as (folder, session), pytest.raises(DownError):
            play(session)
        with resume_run(folder, host=host, mind=Thinking([NO_HOLES, TRUE])) as session:
            play(session)
    yield folder


def test_every_call_of_the_model_is_counted_once(run: RunFolder) -> None:
    with Ledger.open(run.ledger, readonly=True) as ledger:
        n = compute_metrics(ledger)
    bill, calls = n.model_costs, sum(n.model_costs.calls.values())
    assert set(bill.calls) == {"reflect", "compile", "judge"} and bill.failed == 1
    assert (bill.requests, bill.failures, bill.retries) == (calls, 1, calls - 1)  # RECEIPT tells one retry a call
    assert bill.input == 100 * (calls - 1) + 9 and bill.output == 20 * (calls - 1) + 2 and bill.cached == 60 * (calls - 1)
    assert bill.tokens == bill.input + bill.output and bill.reasoning == 5 * (calls - 1)
    assert bill.dollars == pytest.approx(0.25 * (calls - 1) + 0.125) and bill.unpriced == 0
    assert bill.per_level == {0: LevelCosts(calls, bill.tokens, pytest.approx(bill.dollars))}
    assert 0 < bill.latency <= bill.longest
    # The mind's own calls are counted apart, and its failure once.
    assert set(n.calls) == {"propose", "judge"} and n.failed_calls == 1


def test_show_tells_it(run: RunFolder, capsys: pytest.CaptureFixture[str]) -> None:
    assert main.main(["show", str(run.path)]) == 0
    text = capsys.readouterr().out
    with Ledger.open(run.ledger, readonly=True) as ledger:
        n = compute_metrics(ledger)
    lines = {line[:13].strip(): line[13:] for line in text.splitlines()}
    assert lines["model calls"].endswith(
        f"{n.model_costs.requests} requests, 1 failed, {n.model_costs.retries} retries, 1 failed request"
    )
    assert (
        f"{n.model_costs.input:,} in (59% cached)" in lines["tokens"]
        and f"{n.model_costs.tokens / n.actions:,.0f} an action" in lines["tokens"]
    )
    assert lines["dollars"].startswith(f"{n.model_costs.dollars:,.4g}; ") and "(median)" in lines["latency"]
    header, level = (line.split() for line in text.splitlines() if line.startswith(("level", "1 ")))
    assert header[-3:] == ["calls", "tokens", "dollars"]
    assert level[-4:] == [str(n.model_costs.requests), f"{n.model_costs.tokens:,}", f"{n.model_costs.dollars:.2f}", "completed"]
    assert main.main(["show", str(run.path), "--json"]) == 0
    told = json.loads(capsys.readouterr().out)["bill"]
    assert told["input"] == n.model_costs.input and told["per_level"][0]["tokens"] == n.model_costs.tokens


def called(op: str, receipt: dict[str, Any], *, inner: bool = True, answered: bool = True) -> MindCalled:
    return MindCalled(seq=0, time=0.0, at=0, member=0, op=op, answered=answered, seconds=2.0, receipt=receipt, is_model_call=inner)


def test_levels_and_prices_that_nobody_knows() -> None:
    billing = ModelCostsBuilder()
    billing.add(called("reflect", {"input_tokens": 10, "output_tokens": 5, "dollars": 0.5}), 0)
    billing.add(called("compile", {"input_tokens": 20, "output_tokens": 5}), 1)  # no price
    billing.add(called("compile", {"failures": 5, "requests": 5}, answered=False), 1)  # no answer: nothing to price
    billing.add(called("coder", {"input_tokens": 7, "dollars": 0.25, "requests": 3}, inner=False, answered=False), 1)
    billing.add(called("propose", {}, inner=False), 1)
    billing.add(called("propose", {"requests": 0, "fallback": "induce"}, inner=False), 1)
    bill = billing.costs
    assert bill.calls == {"reflect": 1, "compile": 2, "coder": 1} and bill.failed == 1 and bill.requests == 10
    assert (bill.tokens, bill.dollars, bill.unpriced) == (47, 0.75, 1)
    assert bill.per_level == {0: LevelCosts(1, 15, 0.5), 1: LevelCosts(3, 32, None)}
    assert dict(bill.format_rows(10))["dollars"] == "0.75; 0.075 an action; the price of 1 call is not known"
    assert dict(ModelCosts({"reflect": 1}, tokens=7, unpriced=1).format_rows(0)) == {
        "model calls": "1 (1 reflect): 0 requests",
        "tokens": "7",
        "dollars": "the price of 1 call is not known",
    }
    assert not ModelCostsBuilder().costs


def test_a_mind_that_costs_nothing_has_no_bill(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main.main(["play", "demo:maze", "--quiet", "--out", str(tmp_path)]) in (0, 1)
    assert main.main(["show", "last", "--out", str(tmp_path)]) == 0
    assert "tokens" not in capsys.readouterr().out
