"""What a program did wrong, as a kind and a sentence that lets whoever wrote it mend it. Runs in the worker."""

from __future__ import annotations

import sys
import traceback
from collections.abc import Mapping
from types import TracebackType

from lawbook.sandbox.return_types import NonsenseError

CLIP = 400

Blame = dict[str, str]
"""{"kind": ..., "reason": ...}: the two fields of a Fault that a worker fills in."""


class SubgoalError(Exception):
    """The predicate that was to be searched for failed, and not the program. Raised from what it raised."""


def blame(error: BaseException, sources: Mapping[str, str], *, loading: bool = False, who: str = "The program") -> Blame:
    """Kind and reason, with the innermost line that lies in `sources` (file name -> text). loading: while it was imported."""
    if isinstance(error, SubgoalError) and error.__cause__ is not None:
        return {"kind": "subgoal", "reason": blame(error.__cause__, sources, who="The subgoal")["reason"]}
    if isinstance(error, NonsenseError):
        return {"kind": error.kind, "reason": error.sentence}
    place = _place(error.__traceback__, sources)
    what = f"{type(error).__name__}: {_text(error)}"
    match error:
        case MemoryError():
            traceback.clear_frames(error.__traceback__)  # lets go of whatever filled the memory
            return {"kind": "memory", "reason": f"{who} used more memory than it may{place}."}
        case SystemExit():
            return {"kind": "exit", "reason": f"{who} tried to exit (sys.exit){place}; return from the function instead."}
        case PermissionError():
            return _forbidden(what, place, who)
        case RuntimeError() if "can't start new thread" in what:
            return _forbidden(what, place, who)
        case ImportError() if "shared object" in what:
            reason = f"{who} needs a library of the system, which is out of reach in here ({what}){place}."
            return {"kind": "forbidden", "reason": reason}
        case ModuleNotFoundError() if str(error.name).partition(".")[0] not in sys.stdlib_module_names:
            allowed = (
                f"only numpy, the standard library, perception and the program's own files ({', '.join(sorted(sources))}) can be"
            )
            return {"kind": "forbidden", "reason": f"{who} cannot import {str(error.name)[:CLIP]!r} in here{place}; {allowed}."}
        case SyntaxError() if error.filename in sources:
            line = f"{error.filename} line {error.lineno}: `{(error.text or '').strip()[:CLIP]}`"
            return {
                "kind": "load",
                "reason": f"{who} does not compile ({type(error).__name__}: {str(error.msg)[:CLIP]}) at {line}.",
            }
        case TypeError() if not place and "unhashable" in what:
            hint = "make states of tuples, frozensets, NamedTuples or frozen dataclasses"
            return {"kind": "type", "reason": f"A state must be hashable, and this one is not ({what}); {hint}."}
    if loading:
        return {"kind": "load", "reason": f"{who} could not be loaded; it raised {what}{place}."}
    return {"kind": "exception", "reason": f"{who} raised {what}{place}."}


def _forbidden(what: str, place: str, who: str) -> Blame:
    allowed = "a program can open no files or sockets and start no threads or processes"
    return {"kind": "forbidden", "reason": f"{who} did something that is not allowed in here ({what}){place}; {allowed}."}


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
    except Exception:  # its __str__ is the program's
        return "(no message)"
    return text if len(text) <= CLIP else text[:CLIP] + "..."
