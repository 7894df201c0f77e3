"""`python -m lawbook`. Written so that a Python which is too old gets as far as saying so."""

import sys

_TOO_OLD = (
    "lawbook: Lawbook needs Python 3.12 or newer and its packages; this is Python {}.{}: call a newer one, "
    "or in a clone run make setup and then .venv/bin/lawbook.\n"
)


def main() -> int:
    if sys.version_info < (3, 12):  # noqa: UP036
        sys.stderr.write(_TOO_OLD.format(*sys.version_info[:2]))  # whoever calls a Python by its name has not asked pip
        return 2
    from lawbook.cli.main import main as run_command_line

    return run_command_line()


sys.exit(main())
