"""Faults of a program, as a kind and a sentence that lets whoever wrote it mend it. Runs in the worker."""

from __future__ import annotations

import sys
import traceback
from collections.abc import Mapping
from types import TracebackType

from lawbook.sandbox.return_types import ContractError

MAX_CHARS = 400

FaultReport = dict[str, str]
"""{"kind": ..., "reason": ...}: the two fields of a ProgramError that a worker fills in."""


class SubgoalError(Exception):
    """A failure of the predicate that was to be searched for, not of the program. Raised from what it raised."""


def describe_error(
    error: BaseException, sources: Mapping[str, str], *, loading: bool = False, subject: str = "The program"
) -> FaultReport:
    """Describe an error by kind and reason, with the innermost line that lies in `sources` (file name -> text).

    loading: it came while the program was imported. subject: of the sentence.
    """
    if isinstance(error, SubgoalError) and error.__cause__ is not None:
        return {"kind": "subgoal", "reason": describe_error(error.__cause__, sources, subject="The subgoal")["reason"]}
    if isinstance(error, ContractError):
        return {"kind": error.kind, "reason": error.reason}
    location = _locate_error(error.__traceback__, sources)
    message = f"{type(error).__name__}: {_read_message(error)}"
    match error:
        case MemoryError():
            traceback.clear_frames(error.__traceback__)  # lets go of whatever filled the memory
            return {"kind": "memory", "reason": f"{subject} used more memory than it may{location}."}
        case SystemExit():
            return {"kind": "exit", "reason": f"{subject} tried to exit (sys.exit){location}; return from the function instead."}
        case PermissionError():
            return _report_forbidden(message, location, subject)
        case RuntimeError() if "can't start new thread" in message:
            return _report_forbidden(message, location, subject)
        case ImportError() if "shared object" in message:
            reason = f"{subject} needs a library of the system, which is out of reach in here ({message}){location}."
            return {"kind": "forbidden", "reason": reason}
        case ModuleNotFoundError() if str(error.name).partition(".")[0] not in sys.stdlib_module_names:
            allowed = (
                f"only numpy, the standard library, perception and the program's own files ({', '.join(sorted(sources))}) can be"
            )
            return {
                "kind": "forbidden",
                "reason": f"{subject} cannot import {str(error.name)[:MAX_CHARS]!r} in here{location}; {allowed}.",
            }
        case SyntaxError() if error.filename in sources:
            line = f"{error.filename} line {error.lineno}: `{(error.text or '').strip()[:MAX_CHARS]}`"
            return {
                "kind": "load",
                "reason": f"{subject} does not compile ({type(error).__name__}: {str(error.msg)[:MAX_CHARS]}) at {line}.",
            }
        case TypeError() if not location and "unhashable" in message:
            hint = "make states of tuples, frozensets, NamedTuples or frozen dataclasses"
            return {"kind": "type", "reason": f"A state must be hashable, and this one is not ({message}); {hint}."}
    if loading:
        return {"kind": "load", "reason": f"{subject} could not be loaded; it raised {message}{location}."}
    return {"kind": "exception", "reason": f"{subject} raised {message}{location}."}


def _report_forbidden(message: str, location: str, subject: str) -> FaultReport:
    allowed = "a program can open no files or sockets and start no threads or processes"
    return {"kind": "forbidden", "reason": f"{subject} did something that is not allowed in here ({message}){location}; {allowed}."}


def _locate_error(trace: TracebackType | None, sources: Mapping[str, str]) -> str:
    """` at FILE line N in FUNCTION: `text`` of the innermost frame in the program's own files; empty when there is none."""
    innermost = None
    while trace is not None:
        if trace.tb_frame.f_code.co_filename in sources:
            innermost = trace
        trace = trace.tb_next
    if innermost is None:
        return ""
    code = innermost.tb_frame.f_code
    lines = sources[code.co_filename].splitlines()
    text = lines[innermost.tb_lineno - 1].strip() if 0 < innermost.tb_lineno <= len(lines) else ""
    return f" at {code.co_filename} line {innermost.tb_lineno} in {code.co_name}: `{text[:MAX_CHARS]}`"


def _read_message(error: BaseException) -> str:
    try:
        text = str(error)
    except Exception:  # its __str__ is the program's
        return "(no message)"
    return text if len(text) <= MAX_CHARS else text[:MAX_CHARS] + "..."
