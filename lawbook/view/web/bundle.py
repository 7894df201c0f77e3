"""The page's scripts and styles as one text each, for a file that has to stand alone. No tool: modules become functions."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

STATIC = Path(__file__).parent / "static"

_IMPORT = re.compile(r'^import \{([^}]*)\} from "\./([a-z]+)\.js";\n', re.MULTILINE)
_EXPORT = re.compile(r"^export (?=(?:async )?(?:function|class|const|let) (\w+))", re.MULTILINE)
_OFFLINE_MODULES = {"source": "packed"}
"""Modules that a file that stands alone has another one for."""


@cache
def build_script() -> str:
    """Join main.js and everything it imports: every module a function that is called once and returns what it exports."""
    modules: dict[str, str] = {}
    _bundle("main", modules)
    text = '"use strict";\n' + "\n".join(modules.values())
    assert "</script" not in text.lower() and "<!--" not in text, "a script in a page must not hold what ends it"
    return text


@cache
def build_style() -> str:
    """Join the page's style sheets."""
    return "\n".join((STATIC / name).read_text(encoding="utf-8") for name in ("look.css", "run.css"))


def _bundle(name: str, modules: dict[str, str]) -> None:
    text = (STATIC / f"{name}.js").read_text(encoding="utf-8")
    for _, module in _IMPORT.findall(text):
        module = _OFFLINE_MODULES.get(module, module)
        if module not in modules:
            _bundle(module, modules)
    names = _EXPORT.findall(text)
    text = _EXPORT.sub("", _IMPORT.sub(_rewrite_import, text))
    assert not re.search(r"^(import|export)\b", text, re.MULTILINE), f"{name}.js imports or exports in a way that is not known here"
    modules[name] = f"const from_{name} = (() => {{\n{text}\nreturn {{ {', '.join(names)} }};\n}})();"


def _rewrite_import(match: re.Match[str]) -> str:
    names = match[1].replace(" as ", ": ")
    return f"const {{{names}}} = from_{_OFFLINE_MODULES.get(match[2], match[2])};\n"
