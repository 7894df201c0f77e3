"""Attacks by a mind: answers that are none, subgoals that misbehave, texts that keep us busy or hide what they hold."""

from __future__ import annotations

import ast
import time
import warnings
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from attacks import AT_5, BOOK, NO_PROPOSALS, ON, RING, TRUE, kinds, opened, sound
from hostile import program
from hypothesis import given, settings
from hypothesis import strategies as st
from minds import Scripted

from lawbook.core.hypothesis import ENGINE, Decision, Hypothesis, Proposal, count_code_bytes, find_rule_citations, strip_comments
from lawbook.core.record import Action
from lawbook.core.results import Judgement, Limits, Plan, Probe, RunOutcome, Subgoal, VerdictKind
from lawbook.errors import MindError, RefusedError
from lawbook.ledger.events import EventKind
from lawbook.minds.base import Case
from lawbook.runs.lifecycle import resume_run
from lawbook.runs.loops.memento3 import play
from lawbook.runs.session import Session
from lawbook.sandbox.host import Host, Program


@pytest.fixture(scope="module")
def believer(tmp_path_factory: pytest.TempPathFactory, host: Host) -> Iterator[Session]:
    """A run that believes the true rules, for attacks that must leave no trace of themselves."""
    with opened(tmp_path_factory.mktemp("believer"), host) as (_, session):
        assert session.propose(TRUE).admissible
        yield session


@pytest.fixture
def session(tmp_path: Path, host: Host) -> Iterator[Session]:
    with opened(tmp_path, host) as (_, session):
        yield session


# -- subgoals --------------------------------------------------------------------------------------------

BAD_SUBGOALS = {
    "exits": "import os\ndef subgoal(state): os._exit(3)",
    "crashes": "import ctypes\ndef subgoal(state): ctypes.string_at(1)",
    "never ends": "def subgoal(state):\n    while True: pass",
    "eats": "kept = []\ndef subgoal(state):\n    while True: kept.append(bytes(1 << 20))",
    "holds now and then": "seen = []\ndef subgoal(state):\n    seen.append(1)\n    return len(seen) > 2",
    "holds by address": "def subgoal(state): return state[0] > 0 and id(state) % 4096 < 3000",
    "breaks the program": "def subgoal(state):\n    global step\n    return 1 / 0\nimport sys\nsys.modules.clear()",
    "is enormous": "def subgoal(state): return False\n" + "#" * 20_000_000,
    "has a null": "def subgoal(state): return False\0",
    "has half a letter": "def subgoal(state): return '\ud800'",
    "nests": "def subgoal(state): return " + "(" * 50_000 + ")" * 50_000,
    "closes everything": "import os\ndef subgoal(state): os.closerange(0, 64)",
    "forges": "import os\ndef subgoal(state):\n    for n in range(3, 8):\n        os.write(n, b'no message')",
}


@pytest.mark.parametrize("name", BAD_SUBGOALS)
def test_a_subgoal_that_misbehaves_says_nothing_against_the_program(session: Session, name: str) -> None:
    session.propose(TRUE)
    bounds = Limits(nodes=500, seconds=0.5)
    with suppress(RefusedError):
        assert not isinstance(session.plan(0, Subgoal(BAD_SUBGOALS[name], "?"), bounds), Plan) or name == "holds by address"
    assert session.list_admissible_members() == [0] and session.state.n_mismatches == 0
    assert isinstance(session.plan(0, AT_5), Plan)
    sound(session)


# -- minds -----------------------------------------------------------------------------------------------


class Babbler(Scripted):
    """Answers whatever it was told to, or fails in whatever way."""

    name = "babbler"

    def __init__(self, answer: Any, receipt: Any = None) -> None:
        super().__init__()
        self.answer, self.costs = answer, {} if receipt is None else receipt

    def propose(self, case: Case) -> Any:
        if isinstance(self.answer, BaseException):
            raise self.answer
        return self.answer

    explore = propose

    def receipt(self) -> Any:
        return self.costs


BABBLE: dict[str, Any] = {
    **NO_PROPOSALS,
    "a probe of nothing": Probe(None, "?"),  # type: ignore[arg-type]
    "a probe without a question": Probe(ON, None),  # type: ignore[arg-type]
    "a probe without end": Probe(Action(10**5000), "?"),
    "a probe of numpy": Probe(Action(np.uint8(1)), "?"),  # type: ignore[arg-type]
    "a subgoal of bytes": Subgoal(b"def subgoal(s): return True", "?"),  # type: ignore[arg-type]
    "an error": KeyError("two\nlines"),
    "an exit": SystemExit(0),
    "memory": MemoryError(),
    "recursion": RecursionError("maximum recursion depth exceeded"),
    "an error that cannot be told": type("Odd", (Exception,), {"__str__": None})(),
}


@pytest.mark.parametrize("name", BABBLE)
def test_a_mind_that_babbles_is_one_sentence(tmp_path: Path, host: Host, name: str) -> None:
    with opened(tmp_path, host, mind=Babbler(BABBLE[name]), budget=3) as (folder, session):
        with pytest.raises(MindError, match=r"\AThe mind babbler [^\n]{15,500}\.\Z"):
            session.call_mind(0, "propose")
        if name not in NO_PROPOSALS:
            with pytest.raises(MindError, match=r"\AThe mind babbler [^\n]{15,500}\.\Z"):
                session.call_mind(0, "explore")
        sound(session)
    with resume_run(folder, host=host, mind=Scripted([Hypothesis(BOOK, {ENGINE: RING})], [Probe(ON, "?")])) as session:
        assert play(session) is RunOutcome.BUDGET


@pytest.mark.parametrize("costs", [None, 3, {"dollars": float("nan")}, {1: 2}, {"tokens": np.int64(3)}, {"said": "x" * 10_000_000}])
def test_a_receipt_that_is_none_costs_no_answer(tmp_path: Path, host: Host, costs: Any) -> None:
    mind = Babbler(TRUE, costs)
    mind.receipt = lambda: costs  # type: ignore[method-assign]
    with opened(tmp_path, host, mind=mind) as (_, session):
        assert session.call_mind(0, "propose") == TRUE
        assert len(str(kinds(session, EventKind.CALL)[0].body)) < 5_000
        sound(session)


BOOKS = {
    "null bytes": "R1. \0 moves.\0\n",
    "half letters": "R1. \ud800 moves \udfff.\n",
    "commands": "R1. x\n\ndone\ncommit refs/heads/evil\ndata 100000\n",
    "escapes": "R1. \x1b]0;owned\x07\x1b[2J \u202e x\n",
    "another line break": "R1. one\x0cR2.\x85R3.\u2028R4.\r\n",
}


@pytest.mark.parametrize("name", BOOKS)
def test_a_strange_rulebook_is_kept_as_it_is(session: Session, name: str) -> None:
    source = RING.replace("# R1", "").replace("# R2", "")
    proposal = Proposal(Decision.REVISE_RULEBOOK, BOOKS[name], {ENGINE: source + "# R1, R2\n"}, BOOKS[name])
    session.mind.judges = lambda _: Judgement(True)  # type: ignore[union-attr]
    assert session.propose(proposal).admissible
    assert session.git.load("m0-i1").rulebook == BOOKS[name]
    assert len(session.git.log()) == 1
    assert session.probe(ON, BOOKS[name]).actions == (ON,)
    sound(session)


@pytest.mark.parametrize(
    "name",
    [
        "../up.py",
        "/etc/x.py",
        "a/b.py",
        ".py",
        "x",
        "world_model.md",
        "a b.py",
        "ä.py",
        "x.py\n",
        "\0.py",
        "a.py.",
        "-rf.py",
        "x" * 99 + ".py",
        "",
    ],
)
def test_file_names_with_tricks_are_refused(believer: Session, name: str) -> None:
    verdict = believer.propose(Proposal(Decision.REPAIR_CODE, None, {**dict(TRUE.files or {}), name: "x = 1"}))
    assert verdict.outcome is VerdictKind.REFUSED and "no name for a module" in verdict.reason
    sound(believer)


@pytest.mark.parametrize("name", ["numpy.py", "os.py", "_thread.py", "encodings.py", "random.py", "json.py"])
def test_the_names_of_pythons_own_modules_are_refused(believer: Session, name: str) -> None:
    verdict = believer.propose(Proposal(Decision.REPAIR_CODE, None, {**dict(TRUE.files or {}), name: "x = 1"}))
    assert verdict.outcome is VerdictKind.FAULT and "rename it" in verdict.reason


@pytest.mark.parametrize("name", ["__init__.py", "__main__.py", "lawbook.py", "zygote.py", "subgoal.py", "World_Model_Engine.py"])
def test_other_names_are_names(session: Session, name: str) -> None:
    files = {**dict(TRUE.files or {}), name: "raise SystemExit"}
    assert session.propose(Proposal(Decision.REVISE_RULEBOOK, BOOK, files)).admissible
    assert session.git.load("m0-i1").files == files
    assert isinstance(session.plan(0, AT_5), Plan)


def test_a_thousand_files_are_too_many(believer: Session) -> None:
    files = {**dict(TRUE.files or {}), **{f"f{n}.py": "" for n in range(1000)}}
    verdict = believer.propose(Proposal(Decision.REPAIR_CODE, None, files))
    assert verdict.outcome is VerdictKind.REFUSED and "files" in verdict.reason


# -- texts that keep the run process busy ----------------------------------------------------------------


@pytest.mark.timing
@pytest.mark.parametrize(
    "rulebook",
    ["-" * 60 + "\nR1. x", "|" + "-" * 200_000 + "|", "\n" * 200_000 + "R1. x", "- " * 200_000, ("> * # - " * 30 + "\n") * 2_000],
    ids=["a line", "a table", "blank lines", "bullets", "all of them"],
)
def test_a_rulebook_with_lines_in_it_is_read_in_no_time(rulebook: str) -> None:
    began = time.perf_counter()
    found = find_rule_citations(Hypothesis(rulebook, {}))
    assert time.perf_counter() - began < 2
    assert found.rules == (("R1",) if "R1" in rulebook else ())


@given(st.text(alphabet=" \t-*#>RQ1\n.x", max_size=40))
def test_rules_are_found_where_they_were(rulebook: str) -> None:
    import re

    slow = re.compile(r"^\s*(?:[-*#>]+\s*)*\**((?:R|Q)\d+)\b", re.MULTILINE)
    found = find_rule_citations(Hypothesis(rulebook, {}))
    assert {*found.rules, *found.questions} == set(slow.findall(rulebook))


@pytest.mark.timing
def test_a_huge_program_is_not_even_read(believer: Session) -> None:
    began = time.perf_counter()
    verdict = believer.propose(Proposal(Decision.REPAIR_CODE, None, {ENGINE: "1;" * 600_000}))
    assert verdict.outcome is VerdictKind.REFUSED and "keep" in verdict.reason
    assert time.perf_counter() - began < 3


# -- the length of a description -------------------------------------------------------------------------

TABLE = "T = '" + "0123456789" * 50 + "'\n"


@pytest.mark.parametrize(
    "source",
    [
        "x = '''" + "\u2028" * 3 + "'''\n" + TABLE * 3 + "#\n" * 3,
        "x = '\x0c\x1c\x85'\n" * 3 + TABLE * 3 + "#\n" * 9,
        "x = '''\n" + (" \t" * 20 + "\n") * 50 + "'''\n",
        "x = 1 #\r" + TABLE * 3,
        "x = f'''\n" + ("\t" * 40 + "\n") * 50 + "{1}'''\n",
    ],
    ids=["line separators", "form feeds", "blanks in a string", "carriage returns", "blanks in a formatted string"],
)
def test_no_data_hides_from_the_length_of_a_description(source: str) -> None:
    assert count_code_bytes(source) > 1500


@pytest.mark.parametrize(
    "source", ["  f'{)\té", "}f'{)if x:\n  y", "(" * 300, "\0", "\ud800", "if x:\n\tif y:\n        z", "'" * 3, "\\"]
)
def test_what_does_not_tokenize_counts_whole(source: str) -> None:
    """Some of it breaks the tokenizer of Python 3.13 itself."""
    assert count_code_bytes(source) >= len(source.encode("utf-8", "replace")) and strip_comments(source).rstrip("\n") == source


def test_comments_and_blanks_cost_nothing_and_say_nothing(host: Host) -> None:
    """What does not count as description cannot be read by the program either: no table hides in its comments."""
    assert count_code_bytes("x = 1\n") == count_code_bytes("x = 1   # R1: because\n\n   \n# R2\n")
    spy = """
import gc
TEXTS = [text for one in gc.get_objects() if type(one) is dict for text in one.values() if type(text) is str]
TEXTS += list(__loader__._files.values())
assert any("def initial_state" in text for text in TEXTS)
if any("".join(["GE", "HEIM"]) in text for text in TEXTS): raise ValueError("found it")
"""
    hidden = {ENGINE: program(top=spy)[ENGINE] + "# GEHEIM 12345\n"}
    assert isinstance(host.load(hidden), Program)


PIECES = [
    "x = 1",
    "'''",
    '"""',
    "#",
    "\n",
    "\\\n",
    "  ",
    "\t",
    "(",
    ")",
    "f'{",
    "}'",
    "\r",
    "\r\n",
    "\x0c",
    "ä",
    "if x:\n  y",
    "'#'",
    "\u2028",
    "R1",
]


@settings(max_examples=300, deadline=None)
@given(st.lists(st.sampled_from(PIECES), max_size=14).map("".join))
def test_what_runs_is_what_was_written(source: str) -> None:
    def read(text: str) -> str | None:
        try:
            with warnings.catch_warnings(action="ignore"):
                return ast.dump(ast.parse(text))
        except (SyntaxError, ValueError):
            return None

    assert read(strip_comments(source)) == read(source)
    assert strip_comments(strip_comments(source)) == strip_comments(source)
