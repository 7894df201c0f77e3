"""Python over the record: all that was seen is there as arrays, nothing else is, and nothing it does is more than a sentence."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from strays import processes

import lawbook
from lawbook.core.record import RESET, Action, Frame, Observation, Record, Status, freeze
from lawbook.ledger.contents import load_observation, store_observation
from lawbook.ledger.ledger import Ledger
from lawbook.runs import record_scripts
from lawbook.sandbox.host import Host

MEMORY = 200 + os.getpid() % 97  # tells our processes from everybody else's


@pytest.fixture(scope="module")
def host() -> Iterator[Host]:
    os.environ["LAWBOOK_TEST_API_KEY"] = "a secret"
    with Host(memory_mb=MEMORY) as host:
        yield host


def frame(number: int, shape: tuple[int, int] = (3, 4)) -> Frame:
    """Its cells tell its number."""
    return freeze(np.full(shape, number % 256, dtype=np.uint8) + np.arange(shape[1], dtype=np.uint8))


def played() -> Record:
    """Level 0 completed by a click after an animation; level 1 lost, and begun anew."""
    record = Record(3)
    record.extend(None, Observation((frame(1),), Status.RUNNING, 0, (1, 6)))
    record.extend(Action(1), Observation((frame(2), frame(3), frame(4)), Status.RUNNING, 0, (1, 6)))
    record.extend(Action(6, 2, 1), Observation((frame(5), frame(6)), Status.COMPLETED, 1, (1,)))
    record.extend(Action(1), Observation((frame(7),), Status.OVER, 1, ()))
    record.extend(RESET, Observation((frame(6),), Status.RUNNING, 1, (1,)))
    return record


def test_the_whole_record_is_there_as_arrays(host: Host) -> None:
    code = """
for t in record:
    print(t, t.frames.dtype, t.frames.shape, t.frames[:, 0, 0].tolist(), [tuple(a) for a in t.actions])
    print(t.statuses, t.levels, t.available, [t.animation(k)[:, 0, 0].tolist() for k in range(len(t) + 1)])
print((frames is record[-1].frames), actions == record[-1].actions, record[0].actions[1].x, frames.tolist())
"""
    assert record_scripts.run_script(host, played(), code) == (
        """\
<trajectory in level 0: 2 actions, frames 3 x 4, completed> uint8 (3, 3, 4) [1, 4, 6] [(1, None, None), (6, 2, 1)]
['running', 'running', 'completed'] [0, 0, 1] [(1, 6), (1, 6), (1,)] [[1], [2, 3, 4], [5, 6]]
<trajectory in level 1: 1 actions, frames 3 x 4, over> uint8 (2, 3, 4) [6, 7] [(1, None, None)]
['running', 'over'] [1, 1] [(1,), ()] [[6], [7]]
<trajectory in level 1: 0 actions, frames 3 x 4, running> uint8 (1, 3, 4) [6] []
['running'] [1] [(1,)] [[6]]
True True 2 [[[6, 7, 8, 9], [6, 7, 8, 9], [6, 7, 8, 9]]]"""
    )


def test_animations_come_out_of_the_ledger_too(host: Host, tmp_path: Path) -> None:
    with Ledger.create(tmp_path / "ledger.sqlite") as ledger:
        record = Record(1)
        for action, count in ((None, 1), (Action(1), 3), (Action(2), 2)):
            seen = Observation(tuple(frame(10 * count + k) for k in range(count)), Status.RUNNING, 0, (1, 2))
            record.extend(action, load_observation(ledger, store_observation(ledger, seen, action, 0)))
        told = record_scripts.run_script(host, record, "print([record[0].animation(k)[:, 0, 0].tolist() for k in (0, 1, -1)])")
    assert told == "[[10], [30, 31, 32], [20, 21]]"


@settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(st.lists(st.tuples(st.integers(0, 255), st.integers(1, 4)), max_size=6), min_size=1, max_size=4),
    st.tuples(st.integers(1, 9), st.integers(1, 9)),
)
def test_what_arrives_is_what_was_seen(host: Host, plays: list[list[tuple[int, int]]], shape: tuple[int, int]) -> None:
    record, want = Record(None), []
    for k, steps in enumerate(plays):
        record.extend(RESET if k else None, Observation((frame(k, shape),), Status.RUNNING, 0, (1,)))
        for number, moving in steps:
            frames = tuple(frame(number + at, shape) for at in range(moving))
            record.extend(Action(1), Observation(frames, Status.RUNNING, 0, (1,)))
        want.append([[seen.tolist() for seen in t.frames] for t in (record.current.first, *(o for _, o in record.current.steps))])
    told = record_scripts.run_script(
        host, record, "print([[t.animation(k).tolist() for k in range(len(t) + 1)] for t in record])", max_bytes=1 << 20
    )
    assert told == str(want)


def test_numpy_and_the_perception_helpers_are_at_hand(host: Host) -> None:
    code = "import perception as p, math\nprint(np.sum(frames), p is perception, perception.changes(*record[1].frames)[0].cells)"
    assert record_scripts.run_script(host, played(), code) == "90 True 12"


def test_a_record_too_large_hands_over_the_newest_frames(host: Host, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(record_scripts, "MAX_SETTLED_BYTES", 40)  # three frames of 12 cells
    code = "print(len(record), record[1].frames.shape, record[0].actions, record[0].levels)\nrecord[0].frames"
    first, reason = record_scripts.run_script(host, played(), code).split("\n")
    assert first.startswith("3 (2, 3, 4) [Action(id=1, x=None, y=None), Action(id=6") and first.endswith("[0, 0, 1]")
    assert "the frames of so old a trajectory are not handed over" in reason
    monkeypatch.undo()
    monkeypatch.setattr(record_scripts, "MAX_ANIMATION_BYTES", 0)
    assert "animations of so old a trajectory" in record_scripts.run_script(host, played(), "record[0].animation(1)")
    assert record_scripts.run_script(host, played(), "print(record[0].frames[1, 0, 0])") == "4"


@pytest.mark.parametrize(
    ("code", "said"),
    [
        (
            "print('so far')\n1 / 0",
            "so far\nThe code raised ZeroDivisionError: division by zero at analysis.py line 2 in <module>: `1 / 0`.",
        ),
        ("def f(:", "The code does not compile (SyntaxError: invalid syntax) at analysis.py line 1: `def f(:`."),
        ("import lawbook", "cannot import 'lawbook'"),
        ("import pydantic_ai", "cannot import 'pydantic_ai'"),
        (f"open({lawbook.__path__[0] + '/core/record.py'!r})", "is not allowed in here (PermissionError"),
        ("open('/etc/passwd')", "is not allowed in here (PermissionError"),
        ("open('/proc/self/environ')", "is not allowed in here (PermissionError"),
        ("import tempfile\ntempfile.gettempdir()", "No usable temporary directory"),
        ("import os\nopen(os.path.join(os.sep, 'tmp', 'x'), 'w')", "is not allowed in here (PermissionError"),
        ("import socket\nsocket.create_connection(('127.0.0.1', 9))", "is not allowed in here (PermissionError"),
        ("import os\nos.fork()", "is not allowed in here (PermissionError"),
        ("import subprocess\nsubprocess.run(['true'])", "is not allowed in here (PermissionError"),
        ("import threading\nthreading.Thread(target=print).start()", "is not allowed in here (RuntimeError"),
        ("import os\nprint('before')\nos._exit(3)", "before\nThe program ended its own process (exit code 3)"),
        ("import ctypes\nctypes.string_at(0)", "The "),
        ("frames[0, 0, 0] = 1", "read-only"),
        ("print('kept')\nx = ' ' * (600 << 20)", "kept\nThe code used more memory than it may"),
        ("def f(): f()\nf()", "RecursionError"),
        ("raise SystemExit", "tried to exit"),
        ("input()", "EOFError"),
        ("pass", "(nothing was printed; print what you want to see)"),
        ("print(chr(27) + '[31m' + chr(0xd800), end='')", "?[31m?"),
    ],
)
def test_whatever_it_does_is_a_sentence(host: Host, code: str, said: str) -> None:
    assert said in record_scripts.run_script(host, played(), code)
    assert sorted(processes(MEMORY)) == sorted(host.pids)


def test_no_key_of_ours_is_in_there(host: Host) -> None:
    code = "import os, sys\nprint(dict(os.environ), sys.argv, sys.orig_argv[1:], [m for m in sys.modules if 'lawbook' in m])"
    assert record_scripts.run_script(host, played(), code) == "{} ['-c'] [] []"


@pytest.mark.timing
def test_an_endless_one_ends_and_what_it_printed_is_kept(host: Host) -> None:
    began = time.monotonic()
    said = record_scripts.run_script(host, played(), "print('so far')\nwhile True: pass", seconds=0.5)
    assert said == "so far\nThe analysis took longer than 0.5 s; is there an endless loop?"
    assert time.monotonic() - began < 3


def test_output_is_capped_and_says_so(host: Host) -> None:
    said = record_scripts.run_script(host, played(), "for _ in range(100_000): print('x' * 99)", max_bytes=1000)
    assert said.startswith("x" * 99 + "\n") and said.endswith("[cut: 9,999,000 more bytes were printed; print less]")
    assert len(said) < 1100


def test_a_scribbler_in_the_shared_memory_tells_nothing_but_text(host: Host) -> None:
    code = """
import gc, mmap
pad = next(m for m in gc.get_objects() if type(m).__name__ == 'OutputBuffer')
memory = pad._memory
memory[:8] = b'\\xff' * 8
memory[64:128] = bytes(range(64))
"""
    said = record_scripts.run_script(host, played(), code, max_bytes=64)
    assert "cut:" in said and all(letter.isprintable() or letter in "\n\t" for letter in said) and len(said) < 400
    assert record_scripts.run_script(host, played(), "print(1)") == "1"


def test_nothing_is_kept_from_one_run_to_the_next(host: Host) -> None:
    record_scripts.run_script(host, played(), "import builtins, numpy\nbuiltins.left = numpy.left = 1")
    assert record_scripts.run_script(host, played(), "print(hasattr(np, 'left'), hasattr(__builtins__, 'left'))") == "False False"


@pytest.mark.timing
def test_it_is_quick_enough_to_think_with(host: Host) -> None:
    """The whole record of 500 actions of 64 x 64 cells goes in for less than a call of any model takes."""
    record, rng = Record(1), np.random.default_rng(0)
    record.extend(None, Observation((freeze(rng.integers(0, 16, (64, 64))),), Status.RUNNING, 0, (1,)))
    for _ in range(500):
        record.extend(Action(1), Observation((freeze(rng.integers(0, 16, (64, 64))),), Status.RUNNING, 0, (1,)))
    took = []
    for _ in range(3):
        began = time.perf_counter()
        assert record_scripts.run_script(host, record, "print(frames.shape)") == "(501, 64, 64)"
        took.append(time.perf_counter() - began)
    assert min(took) < 1.0


def test_the_guide_is_true(host: Host) -> None:
    """Every name that it promises is there."""
    names = [
        word
        for word in ("record", "frames", "actions", "np", "perception")
        if f"`{word}`" in record_scripts.GUIDE or word in record_scripts.GUIDE
    ]
    assert len(names) == 5
    code = f"print([n in globals() for n in {names}], [hasattr(record[0], n) for n in ('frames', 'actions', 'statuses', 'levels')])"
    code += "\nprint([hasattr(perception, n) for n in ('components', 'objects', 'regions', 'changes', 'clicks', 'text')])"
    assert "False" not in record_scripts.run_script(host, played(), code)
    assert (
        f"{record_scripts.MAX_OUTPUT_BYTES:,}" in record_scripts.GUIDE
        and f"{record_scripts.DEFAULT_TIMEOUT_S:g} seconds" in record_scripts.GUIDE
    )


def test_importing_it_is_cheap() -> None:
    code = "import sys, lawbook.runs.mind_tools; assert not {'pydantic_ai', 'mcp', 'starlette'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)
