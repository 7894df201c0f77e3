"""What a terminal of a given size would show, for tests of displays."""

from __future__ import annotations

import re

from rich.console import Console


def text_of(renderable: object, width: int = 80, height: int = 24) -> str:
    console = Console(width=width, height=height, force_terminal=True, color_system="truecolor", file=open("/dev/null", "w"))  # noqa: SIM115, PTH123
    with console.capture() as capture:
        console.print(renderable)
    return capture.get()


def plain(text: str) -> str:
    return re.sub("\x1b\\[[0-9;?]*[A-Za-z]", "", text)
