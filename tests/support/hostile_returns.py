"""Programs that return what is no answer, or are no program at all."""

from __future__ import annotations

from hostile import ANY, GATE, STRICT, Hostile, in_import, in_render, program

from lawbook.core.hypothesis import ENGINE


def shown(name: str, code: str, kind: str, says: str, top: str = "") -> Hostile:
    return in_render(STRICT, name, code, kind, says, top)


def no_program(name: str, files: dict[str, str], kind: str, says: str) -> Hostile:
    return Hostile(name, files, (kind,), says, GATE if kind == "refused" else STRICT, None)


HOSTILE = [
    shown("a wrong shape", "return [[0] * 4] * 3", "shape", "render returned shape (3, 4), the frames here are 4 x 4"),
    shown("ragged rows", "return [[0] * 4, [0] * 3]", "shape", "rows of different lengths"),
    shown("too many dimensions", "return [[[0] * 4] * 4] * 9", "shape", "render returned shape"),
    shown("no frame", "return", "type", "render returned a NoneType"),
    shown("broken numbers", "return [[0.5] * 4] * 4", "type", "array of float64"),
    shown("words for cells", "return [['a'] * 4] * 4", "type", "whole numbers"),
    shown("cells that are too large", "return [[300] * 4] * 4", "type", "a cell of 300"),
    shown("cells below nothing", "return [[-1] * 4] * 4", "type", "a cell of -1"),
    shown("cells beyond all numbers", "return [[10 ** 30] * 4] * 4", "type", "whole numbers"),
    shown(
        "an array that lies about its shape",
        "return np.zeros((4, 9), np.uint8).view(F)",
        "shape",
        "render returned shape (4, 9)",
        "import numpy as np\nclass F(np.ndarray):\n    @property\n    def shape(self): return (4, 4)",
    ),
    Hostile(
        "a state without a hash",
        program(top="class S(int):\n    __hash__ = None", step="return S(state + 1)"),
        ("type",),
        "must be hashable",
        STRICT,
        1,
    ),
    Hostile("no answer to is_goal", program(goal="None"), ("type",), "is_goal returned None (NoneType)", STRICT, 0),
    Hostile("a number for a goal", program(goal="state + 2"), ("type",), "is_goal returned 2 (int)", STRICT, 0),
    Hostile("no answer to is_over", program(end="def is_over(state): pass"), ("type",), "is_over returned None", STRICT, 0),
    no_program("no Python", {ENGINE: "def step(:\n"}, "load", "line 1: `def step(:`"),
    no_program("a null byte", {ENGINE: "x = 1\0"}, "load", "null bytes"),
    no_program("a lone surrogate", {ENGINE: "x = '\udc80'"}, "load", ""),
    no_program("nothing", {ENGINE: ""}, "load", "does not define initial_state"),
    no_program("another file", {"other.py": ""}, "refused", "The program has no world_model_engine.py"),
    no_program("a file elsewhere", {**program(), "../x.py": ""}, "refused", "no name for a module"),
    no_program("a file with a full path", {**program(), "/etc/passwd": ""}, "refused", "no name for a module"),
    no_program("too many files", {**program(), **{f"m{k}.py": "" for k in range(999)}}, "refused", "keep them to"),
    no_program("a library", {ENGINE: "# " + "x" * 1_500_000}, "refused", "keep them under"),
    no_program("a number for a step", program(end="step = 3"), "load", "is a int, not a function"),
    no_program("the name of a module", {**program(), "random.py": ""}, "load", "random.py has the name of a module of Python"),
    no_program("the name of our module", {**program(), "perception.py": ""}, "load", "rename it"),
    in_import(STRICT, "a failing import", "1 / 0", "load", "ZeroDivisionError: division by zero at world_model_engine.py line 3"),
    in_import(
        STRICT, "an import of itself", "import world_model_engine\nworld_model_engine.step", "load", "AttributeError"
    )._replace(at=ANY),
]
