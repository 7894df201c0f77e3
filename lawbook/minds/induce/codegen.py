"""Laws as text: the rulebook a person reads, and the program that cites it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files as resources
from typing import Any

from lawbook.core.hypothesis import ENGINE, Hypothesis
from lawbook.minds.induce.law_tables import Laws
from lawbook.minds.induce.layers import Copy
from lawbook.minds.induce.looks import ANY
from lawbook.minds.induce.overlay_removal import Over
from lawbook.minds.induce.walker import COMPLETED, OVER, box

_ENGINE = '''"""A walking world: the contract over `walker`, and `layers` over it, with what was learnt in `learnt`."""

import learnt
from layers import Layers
from walker import Walker

world = Layers(learnt, Walker(learnt))
initial_state = world.initial_state
step = world.step
render = world.render
is_goal = world.is_goal
is_over = world.is_over
'''
_KEY = """key = world.key
"""
_ACTIONS = """actions = world.actions
"""
_FIRST = 8
"""Number of the first rule about one kind of contact; those before it are always the same."""
_LISTED = 12
"""How many exceptions the rulebook names one by one."""


@cache
def _source(name: str) -> str:
    """A module of ours as a file of a program, where the others lie beside it."""
    return resources(__package__).joinpath(name).read_text(encoding="utf-8").replace(f"from {__package__}.", "from ")


def written(laws: Laws, over: Over, actions: Sequence[int], others: Sequence[Laws] = ()) -> Hypothesis:
    """Rulebook and program of these laws. actions: ids of the world's actions. others: laws that fit the record as well."""
    files = {
        ENGINE: _ENGINE + (_KEY if over.strips else "") + (_ACTIONS if laws.around else ""),
        "walker.py": _source("walker.py"),
        "layers.py": _source("layers.py"),
        "looks.py": _source("looks.py"),
        "predicates.py": _source("predicates.py"),
        "learnt.py": _learnt(laws, over),
    }
    return Hypothesis(_rulebook(laws, over, actions, others), files)


def _learnt(laws: Laws, over: Over) -> str:
    last = _FIRST + len(laws.contacts) + bool(laws.guess) + bool(laws.around) + bool(laws.goals)
    rules = [f"R{last + k}" for k in range(len(over.strips) + 4)]
    lives, view = len(over.strips), len(over.strips) + bool(over.lives)
    copied = view + bool(over.view)
    rows = [
        '"""What was learnt. Colours are numbers; -1 is transparent, or open ground."""',
        "",
        *_table("bodies", [_body(body) for body in laws.bodies], "()", "R1, R2"),
        f"under = {laws.under!r}  # R3",
        f"floor = {laws.floor!r}  # R4",
        *_table("gates", [repr(gate) for gate in laws.gates], "()", "R5"),
        *_dict("contacts", laws.contacts, [f"R{k}" for k in range(_FIRST, _FIRST + len(laws.contacts))], "R5"),
        *_far(laws),
        f"guess = {laws.guess!r}" + (f"  # R{_FIRST + len(laws.contacts)}" if laws.guess else ""),
        *_taps(laws, f"R{_FIRST + len(laws.contacts) + bool(laws.guess)}"),
        *_dict("starts", laws.starts, ["R6"] * len(laws.starts), "R6"),
        *_dict("places", laws.places, ["R6"] * len(laws.places), "R6"),
        *_table("histories", [repr(history) for history in laws.histories], "()", "R7"),
        *_table("strips", [f"{tuple(strip)!r}" for strip in over.strips], "()", ", ".join(rules[: len(over.strips)]) or "none"),
        *_table("refills", [repr(contact) for contact in over.refills], "()", ", ".join(rules[: len(over.strips)]) or "none"),
        *_table("lives", [repr(life) for life in over.lives], "()", rules[lives] if over.lives else "none"),
        f"view = {over.view!r}" + (f"  # {rules[view]}" if over.view else ""),
        *_table("maps", [repr(known) for known in over.maps], "()", rules[view] if over.view else "none"),
        *_table("copies", [f"{tuple(copy)!r}" for copy in over.copies], "()", rules[copied] if over.copies else "none"),
        *_table("patches", [repr(p) for p in over.patches], "()", rules[copied + bool(over.copies)] if over.patches else "none"),
    ]
    return "\n".join(rows) + "\n"


def _overlying(over: Over) -> list[str]:
    """The rules of what lies over the world, in the order in which `_learnt` cites them."""
    said = []
    for strip in over.strips:
        where = f"{'rows' if strip.axis == 0 else 'columns'} {strip.lines[0]} to {strip.lines[1]}"
        along = f"{'columns' if strip.axis == 0 else 'rows'} {strip.start} (or wherever it begins) to {strip.stop}"
        p, q, _ = strip.rate
        pace = f"{p} of its places" if q == 1 else f"{p} of its places in every {q} of them"
        when = "every action" if strip.when == "always" else "every action that changes something else"
        late = f" {strip.slack} more" if strip.slack else ""
        ends = f"; when the last is empty,{late} and it has run out" if strip.slack >= 0 else ""
        ends = ends.replace(", and", "") if not late else ends
        said.append(f"The strip in {where}, {along}, empties from colour {strip.full} to {strip.empty}: {when} takes {pace}{ends}.")
    if over.refills and said:
        said[-1] += f" Meeting any of {len(over.refills)} things fills it again: {'; '.join(map(_thing, over.refills))}."
    if over.lives:
        times = len(over.lives) - 1
        lives = f"{times} times the level begins again, and the cells that count this change; then " if times else ""
        said.append(f"When a strip has run out: {lives}the game is over.")
    if over.view:
        colour, up, left, height, width = over.view
        said.append(
            f"Only what is near is shown: {height} rows and {width} columns, from {up} above and {left} left of the avatar; the "
            f"rest is colour {colour}, but for what was shown outside at the start. What has been seen of a level is remembered."
        )
    if over.copies:
        said.append(" ".join(map(_copied, over.copies)))
    if over.patches:
        number = sum(patch is not None for _, steps in over.patches for _, patch in steps)
        said.append(f"Exceptions learnt by heart ({number}): a frame or a status after one history, against all of the above.")
    return said


def _far(laws: Laws) -> list[str]:
    return _dict("far", laws.far, ["R5"] * len(laws.far), "R5")


def _copied(copy: Copy) -> str:
    parts = [
        f"rows {row} to {row + copy.height - 1}, columns {col} to {col + copy.width - 1}"
        for row, col in ((copy.top, copy.left), (copy.row, copy.col))
    ]
    return f"The part in {parts[0]} shows the one in {parts[1]} again, {copy.flip}."


def _taps(laws: Laws, rule: str) -> list[str]:
    goal = f"R{int(rule[1:]) + bool(laws.around)}"
    cited = rule if laws.around else "none"
    return [
        f"click = {laws.click!r}",
        *_dict("turns", laws.turns, [cited] * len(laws.turns), cited),
        *_dict("around", laws.around, [cited] * len(laws.around), cited),
        *_table("goals", [repr(found) for found in laws.goals], "()", goal if laws.goals else "none"),
    ]


def _body(body: Mapping[str, Any]) -> str:
    return repr(dict(body))


def _table(name: str, items: Sequence[str], empty: str, rule: str) -> list[str]:
    return [f"{name} = (  # {rule}", *(f"    {item}," for item in items), ")"] if items else [f"{name} = {empty}  # {rule}"]


def _dict(name: str, items: Mapping[Any, Any], rules: Sequence[str], rule: str) -> list[str]:
    if not items:
        return [f"{name} = {{}}  # {rule}"]
    lines = (f"    {key!r}: {value!r},  # {rule}" for (key, value), rule in zip(items.items(), rules, strict=True))
    return [f"{name} = {{  # {rule}", *lines, "}"]


def _rulebook(laws: Laws, over: Over, actions: Sequence[int], others: Sequence[Laws]) -> str:
    rules = [*_general(laws), *(_sentence(key, effect) for key, effect in laws.contacts.items())]
    if laws.guess:
        rules.append(f"A guess, until it has been reached: {_thing(laws.guess)} completes the level.")
    if laws.around:
        turning = "; ".join(f"{_figure(one)} into {_figure(other)}" for one, other in laws.turns.items())
        rules.append(f"A click turns what is clicked and what stands in known places around it: {turning}.")
    if laws.goals:
        rules.append(f"The level is completed when {', or when '.join(_goal(laws, *goal) for goal in laws.goals)}.")
    rules += _overlying(over)
    still = [action for action in actions if not any(action in body["moves"] for body in laws.bodies)]
    asked = [
        *([f"Is {_thing(laws.guess)} the goal?"] if laws.guess else []),
        *([] if laws.guess or laws.goals or _wins(laws) else ["What completes a level? Nothing that was met has done it."]),
        *(f"What does action {action} do? It has not been seen to move the avatar." for action in still),
        *(["What law is behind the exceptions of R6 and R7?"] if laws.places or laws.histories else []),
        *dict.fromkeys(doubt for other in others for doubt in _doubts(laws, other)),
    ]
    return "\n\n".join(
        [
            "# The world, as far as it is known",
            "\n".join(f"- R{k}. {rule}" for k, rule in enumerate(rules, start=1)),
            "## Open questions",
            "\n".join(f"- Q{k}. {question}" for k, question in enumerate(asked, start=1)) or "None.",
            "",
        ]
    )


def _doubts(laws: Laws, other: Laws) -> list[str]:
    """What another set of laws, which fits the record as well, says otherwise."""
    said = [_sentence(key, effect) for key, effect in other.contacts.items() if laws.contacts.get(key) != effect]
    if other.guess and other.guess != laws.guess:
        said.append(f"{_capital(_thing(other.guess))} completes the level.")
    return [f"Or is it rather so, which fits the record as well: {sentence}" for sentence in said]


def _wins(laws: Laws) -> bool:
    return any(happens == "win" for happens, _ in laws.contacts.values())


def _general(laws: Laws) -> list[str]:
    turning = len(laws.bodies) > 1 and any("turns" in body for body in laws.bodies)
    moves = [
        f"action {action} moves {_whom(laws, body)} {_way(*move)}" + (f" as {_figure(body['look'])}" if turning else "")
        for body in laws.bodies
        for action, move in body["moves"].items()
    ]
    moves += [
        f"action {action} turns {_figure(body['look'])} into {_figure(laws.bodies[other]['look'])}"
        for body in laws.bodies
        for action, other in body.get("turns", {}).items()
    ]
    exceptions = [
        *(f"at the start, first frame {mark:08x}: {_start(start)}" for mark, start in laws.starts.items()),
        *(f"action {action} {_place(row, col)}: {_follows(effect)}" for (_, _, row, col, _, action), effect in laws.places.items()),
    ]
    lessons = [
        f"from first frame {mark:08x}, actions {' '.join(str(action) for action, _ in steps[:k])}: {_follows(effect)}"
        for mark, steps in laws.histories
        for k, (_, effect) in enumerate(steps, start=1)
        if effect is not None
    ]
    mates = [_figure(body["look"]) for body in laws.bodies if "mate" in body]
    avatar = "No avatar is known: nothing has been seen to move as a whole."
    moving = "No action is known to move an avatar; any changes nothing."
    if laws.bodies:
        avatar = f"The avatar is {' or '.join(_figure(body['look']) for body in laws.bodies if 'mate' not in body)}."
    if mates:
        avatar += f" The same actions move {' and '.join(mates)} too; each has its turn, in this order."
    if moves:
        moving = f"Moves: {'; '.join(moves)}. Any other action changes nothing."
    below = "the colour around it" if laws.under is None else f"colour {laws.under}"
    ground = f"Open ground is {_colours(laws.floor)}; any other colour is a figure on it."
    patches = ",".join(dict.fromkeys(f" {height} x {width} cells" for _, _, height, width in map(box, laws.bodies)))
    return [
        avatar,
        moving,
        f"The avatar hides what is below it, and that is seen again when it leaves. At the start {below} lies below.",
        ground if laws.floor else "No open ground is known yet.",
        f"What a move does is decided by the patch of ground it would lead to{patches and ':'}{patches}. "
        "The most particular of the laws below decides; what none of them names stops the avatar."
        + "".join(map(_gate, laws.gates))
        + "".join(_elsewhere(key, far) for key, far in laws.far.items()),
        f"Exceptions learnt by heart, one place each: {_list(exceptions)}",
        f"Exceptions learnt by heart, one history each: {_list(lessons)}",
    ]


def _whom(laws: Laws, body: Mapping[str, Any]) -> str:
    """Who is moved, where that needs to be said."""
    return "it" if not any("mate" in other for other in laws.bodies) else _drawn(body["look"])


def _gate(gate: Any) -> str:
    shown, key, place = gate
    wanted = _drawn(key) + (" in its own colour (`*`)" if any(ANY in line for line in shown) else "")
    if place is None:
        return f" A gate, {_drawn(shown)}, is shut while there is {wanted}, and open once none is left."
    where = ", ".join(f"{name} {number}" for name, number in zip(("row", "column"), place, strict=True) if number is not None)
    return f" A gate, {_drawn(shown)}, is open while {wanted} is shown at {where}, and else shut."


def _elsewhere(key: Any, far: Any) -> str:
    if far[0][0] == "copy":
        return f" When the avatar meets {_thing(key)} it is shown at row {far[0][1]}, column {far[0][2]} too."
    colours = sorted({colour for *_, colour in far})
    top, left, bottom, right = (pick(cell[k] for cell in far) for pick, k in ((min, 0), (min, 1), (max, 0), (max, 1)))
    cells = f"{_cells(len(far))} in rows {top} to {bottom}, columns {left} to {right}"
    return f" When the avatar meets {_thing(key)} {cells} change to {_colours(colours)}."


def _drawn(look: Sequence[Sequence[int]]) -> str:
    return "`" + " / ".join("".join({-1: ".", ANY: "*"}.get(cell) or format(cell, "x") for cell in line) for line in look) + "`"


def _goal(laws: Laws, kind: str, what: Any) -> str:
    if kind == "none":
        return f"there is no {_figure(what)} left"
    if kind == "left":
        return f"there are no more than {what[1]} of {_figure(what[0])} left"
    if kind == "alike":
        return f"all of these are alike: {'; '.join(map(_figure, what))}"
    if kind == "match":
        row, col, height, width, there, along, step, _, turn = what
        how = f", {turn} exchanged," if turn != "as it is" else ""
        larger = f", {step} times as large" if step > 1 else ""
        place = f"the {height} x {width} cells from row {row}, column {col}"
        return f"{place} look like those from row {there}, column {along}{how}{larger}"
    return " and ".join(f"{_figure(laws.bodies[body]['look'])} stands on {_thing(home).rstrip(',')}" for body, home in what)


def _list(items: Sequence[str]) -> str:
    if not items:
        return "none."
    more = f"; and {len(items) - _LISTED} more" if len(items) > _LISTED else ""
    return f"({len(items)}) {'; '.join(items[:_LISTED])}{more}."


def _place(row: int, col: int) -> str:
    return f"at row {row}, column {col}" if row >= 0 else "with no avatar"


def _cells(number: int) -> str:
    return f"{number} cell" + "s" * (number != 1)


def _start(start: Any) -> str:
    body, row, col, _ = start[0]
    return "no avatar" if body < 0 else f"the avatar is at row {row}, column {col}, and what lies below it is known"


def _follows(effect: Any) -> str:
    body, row, col, status, changes, _ = effect
    end = {COMPLETED: ", level completed", OVER: ", game over"}.get(status, "")
    cells = (
        "the whole ground repainted" if isinstance(changes, str) else f"{_cells(sum(run for *_, run in changes))} of ground changed"
    )
    return f"{cells}, {'no avatar' if body < 0 else f'avatar to row {row}, column {col}'}{end}"


def _way(rows: int, cols: int) -> str:
    parts = [f"{abs(n)} {way[n > 0]}" for n, way in ((rows, ("up", "down")), (cols, ("left", "right"))) if n]
    return " and ".join(parts)


def _colours(colours: Sequence[int]) -> str:
    return ("colour " if len(colours) == 1 else "colours ") + ", ".join(map(str, colours))


def _figure(look: Sequence[Sequence[int]]) -> str:
    if len(look) == len(look[0]) == 1:
        return f"the single cell of colour {look[0][0]}"
    shown = sorted({colour for line in look for colour in line} - {-1})
    drawing = " / ".join("".join("." if colour < 0 else format(colour, "x") for colour in line) for line in look)
    return f"the figure of {len(look)} x {len(look[0])} cells in {_colours(shown)}: `{drawing}`"


def _thing(key: Any) -> str:
    match key:
        case ("edge",):
            return "the edge of the frame"
        case ("floor",):
            return "open ground"
        case ("colour", colours):
            return f"a figure of {_colours(colours)}"
        case ("shape", rows):
            return f"a figure of the shape `{' / '.join(rows)}`, whatever its colours,"
        case ("exact", rows):
            return f"exactly {_figure(rows)}"
        case ("exact", rows, way):
            return f"exactly {_figure(rows)}, a gate that is {way},"
        case ("shape", rows, way):
            return f"a figure of the shape `{' / '.join(rows)}`, a gate that is {way},"
        case (inner, action):
            return f"{_thing(inner)}, met by action {action},"
    return repr(key)


def _sentence(key: Any, effect: Any) -> str:
    happens, paint = effect
    words = {
        "enter": "can be walked on",
        "stop": "stops the avatar",
        "act": "stays where it is",
        "slide": "is slid over, on the same way until something stops the avatar",
        "push": "is pushed on where what stands behind it can be walked on, and else stops the avatar",
        "win": "completes the level",
        "die": "ends the game; the avatar is then seen on it",
        "die outside": "ends the game; the avatar stays where it was",
        "die vanishing": "ends the game; the avatar is gone",
    }
    if happens.startswith("carry"):
        rows, cols = map(int, happens.split()[1:])
        said = f"carries the avatar on, {_way(rows, cols)}"
    else:
        said = words[happens]
    sentence = f"{_capital(_thing(key))} {said}"
    if paint:
        colours = sorted({colour for *_, colour in paint})
        sentence += f", and {_cells(len(paint))} there {'turns' if len(paint) == 1 else 'turn'} to {_colours(colours)}"
    return sentence + "."


def _capital(text: str) -> str:
    return text[0].upper() + text[1:]
