"""A real small model over real HTTP plays a small world, and is expected to fail it honestly: what source 002 of the paper does.

Its answers are its own: nothing written by hand stands in for one that cannot be used, what is wrong is refused, and the run comes
to an end of its own with the counts of accepted, falsified and refused proposals. `make test-local` fetches the model and runs it;
on one core that takes some minutes, so it is no part of `make test`.
"""

from __future__ import annotations

import json
import os
from pathlib import Path

import local_model
import pytest
from lakes import bodies

from lawbook.cli import main
from lawbook.ledger.events import EventKind
from lawbook.ledger.ledger import Ledger
from lawbook.runs.folder import list_runs
from lawbook.runs.recheck import recheck_run

pytestmark = pytest.mark.skipif(not os.environ.get("LAWBOOK_LOCAL_MODEL"), reason="make test-local fetches the model and plays")

WORLD = "gym:FrozenLake-v1?size=4"
MANNER = "?max_tokens=150&temperature=0&timeout=900"


def test_a_model_that_cannot_play_fails_honestly(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    with local_model.served() as address:
        mind = f"llm:openai-compatible:{address}/v1#smollm2{MANNER}"
        code = main.main(["play", WORLD, "--mind", mind, "--budget", "8", "--plain", "--out", str(tmp_path)])
        said = capsys.readouterr()
        assert code in (0, 1) and "internal" not in said.err, said.err
    folder = next(list_runs(tmp_path))
    with Ledger.open(folder.ledger, readonly=True) as ledger:
        events = list(ledger)
        texts = [ledger.get_text(body["answer"]) for body in bodies(events, EventKind.CALL) if "request" in body and body["answer"]]
        books = [ledger.get_text(body["rulebook"]) for body in bodies(events, EventKind.PROPOSE) if body["rulebook"]]
        assert recheck_run(ledger).chain_error is None
    # The end is the run's own, and not a pause or a crash.
    ended = bodies(events, EventKind.CLOSE)
    assert len(ended) == 1 and ended[0]["outcome"] in ("stuck", "budget", "won")
    # Every answer came over HTTP from the model, token by token, and nothing else was proposed.
    assert texts and len(set(texts)) > 1
    for book in books:
        rules = [line.strip() for line in book.splitlines() if line.strip()]
        assert all(any(line in text or json.dumps(line)[1:-1] in text for text in texts) for line in rules)
    capsys.readouterr()
    assert main.main(["show", str(folder.path), "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    bill = told["bill"]
    assert bill["output"] > 50 and bill["input"] > 1000 and bill["cached"] > 0 and bill["unpriced"] == sum(bill["calls"].values())
    accepted = told["proposals"].get("admissible", 0)
    with capsys.disabled():
        print(
            f"\n{told['outcome']}: {accepted} accepted, {told['mismatches']} falsified, {told['refusals']} refused; {bill['calls']}"
        )
    assert accepted + told["refusals"] == sum(told["proposals"].values()) > 0
