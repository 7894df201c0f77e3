"""`python -m lawbook`. Written so that a Python which is too old gets as far as saying so."""

import sys


def main() -> int:
    if sys.version_info < (3, 12):  # noqa: UP036: whoever calls a Python by name has not asked pip
        sys.stderr.write(
            "lawbook: Lawbook needs Python 3.12 or newer and its packages; this is Python %d.%d: call a newer one, "
            "or in a clone run make setup and then .venv/bin/lawbook.\n" % sys.version_info[:2]  # noqa: UP031
        )
        return 2
    from lawbook import cli

    return cli.main()


sys.exit(main())
