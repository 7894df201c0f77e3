"""What a program did wrong, as a kind and a sentence that lets whoever wrote it mend it. Runs in the worker."""

from __future__ import annotations

import sys
import traceback
from collections.abc import Mapping
from types import TracebackType
from typing import Any

CLIP = 400

Blame = dict[str, Any]
"""{"kind": ..., "reason": ...}: the two fields of a Fault that a worker fills in."""


class NonsenseError(Exception):
    """The program answered, with something that is no answer. `kind`: shape or type."""

    def __init__(self, kind: str, sentence: str) -> None:
        super().__init__(sentence)
        self.kind = kind
        self.sentence = sentence


def blame(error: BaseException, sources: Mapping[str, str], *, loading: bool = False) -> Blame:
    """Kind and reason, with the innermost line that lies in `sources` (file name -> text)."""
    place = _place(error.__traceback__, sources)
    if isinstance(error, NonsenseError):
        return {"kind": error.kind, "reason": error.sentence}
    if isinstance(error, MemoryError):
        traceback.clear_frames(error.__traceback__)  # lets go of whatever filled the memory
        return {"kind": "memory", "reason": f"The program used more memory than it may{place}."}
    what = f"{type(error).__name__}: {_text(error)}"
    if isinstance(error, SystemExit):
        return {"kind": "exit", "reason": f"The program tried to exit (sys.exit){place}; return from the function instead."}
    if isinstance(error, PermissionError) or (isinstance(error, RuntimeError) and "can't start new thread" in what):
        nothing = "a program can open no files or sockets and start no threads or processes"
        return {"kind": "forbidden", "reason": f"The program did something that is not allowed in here ({what}){place}; {nothing}."}
    if isinstance(error, ModuleNotFoundError) and error.name and error.name.partition(".")[0] not in sys.stdlib_module_names:
        own = ", ".join(sorted(sources))
        name = str(error.name)[:CLIP]
        allowed = f"only numpy, the standard library and the program's own files ({own}) can be"
        return {"kind": "forbidden", "reason": f"The program cannot import {name!r} in here{place}; {allowed}."}
    if isinstance(error, ImportError) and "shared object" in what:
        return {
            "kind": "forbidden",
            "reason": f"The program needs a library of the system, which is out of reach in here ({what}){place}.",
        }
    if isinstance(error, SyntaxError) and loading:
        place = f" at {error.filename} line {error.lineno}: `{(error.text or '').strip()[:CLIP]}`"
        return {"kind": "load", "reason": f"The program does not compile: {type(error).__name__}: {str(error.msg)[:CLIP]}{place}."}
    if isinstance(error, TypeError) and not place and "unhashable" in what:
        hint = "make states of tuples, frozensets, NamedTuples or frozen dataclasses"
        return {"kind": "type", "reason": f"A state must be hashable, and this one is not ({what}); {hint}."}
    verb = "could not be loaded; it raised" if loading else "raised"
    return {"kind": "load" if loading else "exception", "reason": f"The program {verb} {what}{place}."}


def _place(trace: TracebackType | None, sources: Mapping[str, str]) -> str:
    """` at FILE line N in FUNCTION: `text`` of the innermost frame in the program's own files; empty when there is none."""
    found = None
    while trace is not None:
        if trace.tb_frame.f_code.co_filename in sources:
            found = trace
        trace = trace.tb_next
    if found is None:
        return ""
    code = found.tb_frame.f_code
    lines = sources[code.co_filename].splitlines()
    text = lines[found.tb_lineno - 1].strip() if 0 < found.tb_lineno <= len(lines) else ""
    return f" at {code.co_filename} line {found.tb_lineno} in {code.co_name}: `{text[:CLIP]}`"


def _text(error: BaseException) -> str:
    try:
        text = str(error)
    except BaseException:  # its __str__ is the program's too
        return "(no message)"
    return text if len(text) <= CLIP else text[:CLIP] + "..."
