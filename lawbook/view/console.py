"""Where words for people go: a rich console that falls silent, and no more, when nobody reads on (`| head`)."""

from __future__ import annotations

import os

from rich.console import Console


class Terminal(Console):
    """As rich's own, which would end the process, and with it a run that somebody is playing."""

    def on_broken_pipe(self) -> None:
        """Fall silent, where rich would end the process: whoever reads our output has left."""
        self.quiet = True
        devnull = os.open(os.devnull, os.O_WRONLY)
        os.dup2(devnull, self.file.fileno())  # what is still buffered goes nowhere, or Python would complain at exit
        os.close(devnull)
