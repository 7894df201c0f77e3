"""The command line's edge: run one command, end every failure in one sentence and its exit code.

Exit codes: 0 won (or done), 1 ended without winning or paused, 2 wrong use, 3 the world or the host failed.
"""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Sequence

from lawbook.errors import LawbookError

INSTALL_HINT = "install it with pip, or in a clone run make setup and then .venv/bin/lawbook"

REQUIRED_PACKAGES = ("click", "numpy", "rich", "arcengine", "tomli_w")

_SYSTEM_ERRORS = {
    errno.ENOSPC,
    errno.EDQUOT,
    errno.EROFS,
    errno.EIO,
    errno.EFBIG,
    errno.EACCES,
    errno.EPERM,
    errno.EMFILE,
    errno.ENFILE,
}

PAUSED, USAGE, INTERNAL_ERROR = 1, 2, 70
"""Exit codes besides those of the errors: paused, wrong use, and a bug of ours (EX_SOFTWARE of sysexits.h)."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code. Never raises."""
    _fill_standard_descriptors()
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")  # texts by others may hold what the terminal cannot write
    try:
        from lawbook.cli.commands import run_command  # here, so that a missing click is told like any missing package

        code = run_command(sys.argv[1:] if arguments is None else arguments)
        sys.stdout.flush()
        return code
    except LawbookError as error:
        return _report_failure(str(error), error.exit_code)
    except ModuleNotFoundError as error:
        if error.name not in REQUIRED_PACKAGES:
            return _report_bug(error)
        return _report_failure(
            f"Lawbook needs Python 3.12 or newer and its packages; {error.name} is missing: {INSTALL_HINT}.", USAGE
        )
    except BrokenPipeError:
        # `| head` has seen enough. What is still buffered goes nowhere, or Python would complain at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except KeyboardInterrupt:
        return _report_failure("interrupted.", PAUSED)
    except OSError as error:
        return _report_system_error(error)
    except Exception as error:
        return _report_bug(error)


def _fill_standard_descriptors() -> None:
    """Put /dev/null where standard input, output or error are closed, as under some schedulers.

    A file of ours would get such a number otherwise, and what is printed would be written into it.
    """
    for descriptor, name, mode in ((0, "stdin", "r"), (1, "stdout", "w"), (2, "stderr", "w")):
        try:
            os.fstat(descriptor)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # the lowest number that is free
        if getattr(sys, name) is None:
            setattr(sys, name, open(descriptor, mode, closefd=False))  # noqa: SIM115


def _report_system_error(error: OSError) -> int:
    """A full disk, a place that can only be read, too few descriptors: nothing that we could mend."""
    if error.errno not in _SYSTEM_ERRORS:
        return _report_bug(error)
    if error.filename is None:  # most likely what is printed: nothing more is, or Python would complain at exit
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    place = "Something (most likely what is printed)" if error.filename is None else str(error.filename)
    return _report_failure(f"{place} cannot be written ({error.strerror}); make room there, or choose another place.", USAGE)


def _report_bug(error: Exception) -> int:
    if os.environ.get("LAWBOOK_DEBUG"):
        raise error
    error_name = type(error).__name__
    return _report_failure(
        f"this is a bug in Lawbook ({error_name}: {error}); please report it, with what LAWBOOK_DEBUG=1 shows.", INTERNAL_ERROR
    )


def _report_failure(sentence: str, code: int) -> int:
    from lawbook.view.formatting import format_one_line

    print(f"lawbook: {format_one_line(sentence)}", file=sys.stderr)
    return code
