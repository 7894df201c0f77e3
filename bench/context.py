"""What a language model is sent at the 200th action of a 64 x 64 game, in tokens, and how much of it repeats the call before.

A whole run through the real session: the operators ask, and a stand-in answers with what the built-in mind induces from the same
case, so that rulebook, program, verdicts and versions are of a real kind and size. No search is allowed a step, so that every
action is explored for: the most calls there can be. Tokens by bpe-openai (o200k), pictures aside.

    python bench/context.py [WORLD] [--actions 200] [--most 24000]
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
from collections import defaultdict
from os.path import commonprefix  # of characters, for once
from pathlib import Path

from bpe_openai import get_encoding

from lawbook.core.hypothesis import ENGINE, RULEBOOK, Decision, Hypothesis, Proposal, find_rule_citations
from lawbook.errors import LawbookError
from lawbook.minds.base import Case
from lawbook.minds.llm.language_mind import LLMMind
from lawbook.minds.llm.model import ModelReply, Request
from lawbook.minds.registry import make_mind
from lawbook.runs.folder import RunConfig
from lawbook.runs.lifecycle import start_run
from lawbook.runs.loops.memento3 import play

LATE = 10
"""Calls within so many actions of the last are the ones that are measured."""


class Induced:
    """A Model whose answers are the built-in mind's, in the form that the operators ask for."""

    name, tools, pictures = "induced", False, False

    def __init__(self) -> None:
        self.encoding = get_encoding("o200k_base")
        self.proposal = Proposal(Decision.RETAIN)
        self.case: Case | None = None
        self.rows: list[tuple[int, str, int, float]] = []
        self._before = ""

    def ask(self, request: Request) -> ModelReply:
        assert self.case is not None
        whole = f"{request.system}\n{request.text}"
        tokens, same = self._count(whole), self._count(commonprefix([whole, self._before]))  # noqa: RUF071
        self.rows.append((self.case.record.n_actions, request.op, tokens, same / tokens))
        self._before = whole
        return ModelReply(self._answer(request.op))

    def _count(self, text: str) -> int:
        return len(self.encoding.encode(text))

    def _answer(self, op: str) -> str:
        match op:
            case "reflect":
                return f"DECISION: {self.proposal.decision}\nDIAGNOSIS: {self.proposal.diagnosis}"
            case "revise":
                return f"{RULEBOOK}\n````markdown\n{self.proposal.rulebook}````"
            case "compile":
                files = self.proposal.files or {}
                return "\n".join(f"{name}\n```python\n{source}```" for name, source in files.items()) or "NO CHANGE"
            case "judge":
                book = self.proposal.rulebook or (self.case.hypothesis.rulebook if self.case and self.case.hypothesis else "")
                return (
                    "\n".join(f"{rule}: {ENGINE}" for rule in find_rule_citations(Hypothesis(book)).rules) + "\nVERDICT: faithful"
                )
            case "explore":
                return f"PROBE: {self._random()}\nQUESTION: What comes of it?"
        return "RETAIN"

    def _random(self) -> str:
        assert self.case is not None and self.case.record.last is not None
        dice = random.Random(self.case.record.n_actions)
        action = dice.choice(self.case.record.last.available)
        clicked = f" x={dice.randrange(64)} y={dice.randrange(64)}" if action in self.case.interface.clicks else ""
        return f"{action}{clicked}"


class Measured(LLMMind):
    """The mind, which tells its model the case, and what the built-in mind would propose."""

    def __init__(self, model: Induced) -> None:
        super().__init__("llm:induced", model)
        self.model, self.inducer = model, make_mind("induce")

    def propose(self, case: Case) -> Proposal:
        self.model.case, self.model.proposal = case, self.inducer.propose(case)
        return super().propose(case)

    def explore(self, case: Case) -> object:  # type: ignore[override]
        self.model.case = case
        return super().explore(case)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("world", nargs="?", default="demo:keys?seed=0")
    parser.add_argument("--actions", type=int, default=200)
    parser.add_argument("--most", type=int, default=24_000)
    given = parser.parse_args()
    model = Induced()
    config = RunConfig(given.world, mind="llm:induced", budget=given.actions, nodes=1)
    with tempfile.TemporaryDirectory() as folder, start_run(config, Path(folder), mind=Measured(model)) as (_, session):
        try:
            play(session)
        except LawbookError as error:
            print(error, file=sys.stderr)
        hypothesis = session.state.members[0].hypothesis
        sent, level = session.state.n_actions, session.record.level
    late = [row for row in model.rows if row[0] >= sent - LATE]
    size = hypothesis.description_bytes if hypothesis else 0
    print(f"{given.world}: {sent} actions, level {level + 1}, {len(model.rows)} calls, rulebook and program {size:,} bytes\n")
    print(f"{'operator':10}{'calls':>6}{'tokens':>9}{'most':>9}{'repeats the call before':>26}")
    by_op: dict[str, list[tuple[int, float]]] = defaultdict(list)
    for _, op, tokens, same in late:
        by_op[op].append((tokens, same))
    for op, rows in by_op.items():
        tokens = [one for one, _ in rows]
        same = sum(one * share for one, share in rows) / sum(tokens)
        print(f"{op:10}{len(rows):>6}{sum(tokens) / len(rows):>9,.0f}{max(tokens):>9,}{same:>26.0%}")
    every = [tokens for _, _, tokens, _ in late]
    share = sum(tokens * same for _, _, tokens, same in model.rows) / sum(tokens for _, _, tokens, _ in model.rows)
    print(f"\nmost in one call, last {LATE} actions: {max(every):,} tokens (of {given.most:,})")
    print(f"most in one call, the whole run: {max(tokens for _, _, tokens, _ in model.rows):,} tokens")
    print(f"share of all tokens that repeat the call before: {share:.0%}")
    return 0 if max(every) < given.most and sent >= given.actions else 1


if __name__ == "__main__":
    sys.exit(main())
