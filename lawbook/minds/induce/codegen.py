"""Laws as text: the rulebook a person reads, and the program that cites it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files as resources

from lawbook.core.hypothesis import ENGINE, Hypothesis
from lawbook.minds.induce.law_tables import Laws
from lawbook.minds.induce.layers import Copy
from lawbook.minds.induce.looks import ANY
from lawbook.minds.induce.overlay_removal import Overlay
from lawbook.minds.induce.types import Body, ContactKey, Effect, Gate, Goal, MemorisedEffect, RemoteEffect, Start
from lawbook.minds.induce.walker import COMPLETED, OVER, box

_ENGINE_SOURCE = '''"""A walking world: the contract over `walker`, and `layers` over it, with what was learnt in `learnt`."""

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
_KEY_LINE = """key = world.key
"""
_ACTIONS_LINE = """actions = world.actions
"""
_FIRST_CONTACT_RULE = 8
"""Number of the first rule about one kind of contact; those before it are always the same."""
_MAX_LISTED = 12
"""How many exceptions the rulebook names one by one."""


@cache
def read_source(name: str) -> str:
    """Return a module of ours as a file of a program, where the others lie beside it."""
    return resources(__package__).joinpath(name).read_text(encoding="utf-8").replace(f"from {__package__}.", "from ")


def write_hypothesis(laws: Laws, overlay: Overlay, actions: Sequence[int], rival_laws: Sequence[Laws] = ()) -> Hypothesis:
    """Write the rulebook and the program of these laws.

    actions: ids of the world's actions. rival_laws: those that fit the record as well; the rulebook asks which are right.
    """
    files = {
        ENGINE: _ENGINE_SOURCE + (_KEY_LINE if overlay.strips else "") + (_ACTIONS_LINE if laws.around else ""),
        "walker.py": read_source("walker.py"),
        "layers.py": read_source("layers.py"),
        "looks.py": read_source("looks.py"),
        "predicates.py": read_source("predicates.py"),
        "learnt.py": _write_tables(laws, overlay),
    }
    return Hypothesis(_write_rulebook(laws, overlay, actions, rival_laws), files)


def _write_tables(laws: Laws, overlay: Overlay) -> str:
    first_overlay_rule = _FIRST_CONTACT_RULE + len(laws.contacts) + bool(laws.guess) + bool(laws.around) + bool(laws.goals)
    rules = [f"R{first_overlay_rule + k}" for k in range(len(overlay.strips) + 4)]
    lives_index, view_index = len(overlay.strips), len(overlay.strips) + bool(overlay.lives)
    copies_index = view_index + bool(overlay.view)
    rows = [
        '"""What was learnt. Colours are numbers; -1 is transparent, or open ground."""',
        "",
        *_format_tuple("bodies", [_format_body(body) for body in laws.bodies], "()", "R1, R2"),
        f"under = {laws.under!r}  # R3",
        f"floor = {laws.floor!r}  # R4",
        *_format_tuple("gates", [repr(gate) for gate in laws.gates], "()", "R5"),
        *_format_dict(
            "contacts", laws.contacts, [f"R{k}" for k in range(_FIRST_CONTACT_RULE, _FIRST_CONTACT_RULE + len(laws.contacts))], "R5"
        ),
        *_write_far_table(laws),
        f"guess = {laws.guess!r}" + (f"  # R{_FIRST_CONTACT_RULE + len(laws.contacts)}" if laws.guess else ""),
        *_write_click_tables(laws, f"R{_FIRST_CONTACT_RULE + len(laws.contacts) + bool(laws.guess)}"),
        *_format_dict("starts", laws.starts, ["R6"] * len(laws.starts), "R6"),
        *_format_dict("places", laws.places, ["R6"] * len(laws.places), "R6"),
        *_format_tuple("histories", [repr(history) for history in laws.histories], "()", "R7"),
        *_format_tuple(
            "strips", [f"{tuple(strip)!r}" for strip in overlay.strips], "()", ", ".join(rules[: len(overlay.strips)]) or "none"
        ),
        *_format_tuple(
            "refills", [repr(contact) for contact in overlay.refills], "()", ", ".join(rules[: len(overlay.strips)]) or "none"
        ),
        *_format_tuple("lives", [repr(life) for life in overlay.lives], "()", rules[lives_index] if overlay.lives else "none"),
        f"view = {overlay.view!r}" + (f"  # {rules[view_index]}" if overlay.view else ""),
        *_format_tuple(
            "maps", [repr(packed_map) for packed_map in overlay.maps], "()", rules[view_index] if overlay.view else "none"
        ),
        *_format_tuple(
            "copies", [f"{tuple(copy)!r}" for copy in overlay.copies], "()", rules[copies_index] if overlay.copies else "none"
        ),
        *_format_tuple(
            "patches",
            [repr(patch) for patch in overlay.patches],
            "()",
            rules[copies_index + bool(overlay.copies)] if overlay.patches else "none",
        ),
    ]
    return "\n".join(rows) + "\n"


def _describe_overlay(overlay: Overlay) -> list[str]:
    """The rules of what lies over the world, in the order in which `_write_tables` cites them."""
    sentences = []
    for strip in overlay.strips:
        lines_text = f"{'rows' if strip.axis == 0 else 'columns'} {strip.lines[0]} to {strip.lines[1]}"
        extent = f"{'columns' if strip.axis == 0 else 'rows'} {strip.start} (or wherever it begins) to {strip.stop}"
        p, q, _ = strip.rate
        pace = f"{p} of its places" if q == 1 else f"{p} of its places in every {q} of them"
        when_text = "every action" if strip.when == "always" else "every action that changes something else"
        slack_text = f" {strip.slack} more" if strip.slack else ""
        end_text = f"; when the last is empty,{slack_text} and it has run out" if strip.slack >= 0 else ""
        end_text = end_text.replace(", and", "") if not slack_text else end_text
        sentences.append(
            f"The strip in {lines_text}, {extent}, empties from colour {strip.full} to {strip.empty}: "
            f"{when_text} takes {pace}{end_text}."
        )
    if overlay.refills and sentences:
        sentences[-1] += (
            f" Meeting any of {len(overlay.refills)} things fills it again: {'; '.join(map(describe_contact, overlay.refills))}."
        )
    if overlay.lives:
        n_restarts = len(overlay.lives) - 1
        lives_text = f"{n_restarts} times the level begins again, and the cells that count this change; then " if n_restarts else ""
        sentences.append(f"When a strip has run out: {lives_text}the game is over.")
    if overlay.view:
        colour, above, left, height, width = overlay.view
        sentences.append(
            f"Only what is near is shown: {height} rows and {width} columns, from {above} above and {left} left of the avatar; the "
            f"rest is colour {colour}, but for what was shown outside at the start. What has been seen of a level is remembered."
        )
    if overlay.copies:
        sentences.append(" ".join(map(_describe_copy, overlay.copies)))
    if overlay.patches:
        n_patches = sum(patch is not None for _, steps in overlay.patches for _, patch in steps)
        sentences.append(
            f"Exceptions learnt by heart ({n_patches}): a frame or a status after one history, against all of the above."
        )
    return sentences


def _write_far_table(laws: Laws) -> list[str]:
    return _format_dict("far", laws.far, ["R5"] * len(laws.far), "R5")


def _describe_copy(copy: Copy) -> str:
    parts = [
        f"rows {row} to {row + copy.height - 1}, columns {col} to {col + copy.width - 1}"
        for row, col in ((copy.top, copy.left), (copy.row, copy.col))
    ]
    return f"The part in {parts[0]} shows the one in {parts[1]} again, {copy.flip}."


def _write_click_tables(laws: Laws, rule: str) -> list[str]:
    goal_rule = f"R{int(rule[1:]) + bool(laws.around)}"
    turn_rule = rule if laws.around else "none"
    return [
        f"click = {laws.click!r}",
        *_format_dict("turns", laws.turns, [turn_rule] * len(laws.turns), turn_rule),
        *_format_dict("around", laws.around, [turn_rule] * len(laws.around), turn_rule),
        *_format_tuple("goals", [repr(learnt_goal) for learnt_goal in laws.goals], "()", goal_rule if laws.goals else "none"),
    ]


def _format_body(body: Body) -> str:
    return repr(dict(body))


def _format_tuple(name: str, items: Sequence[str], empty: str, rule: str) -> list[str]:
    return [f"{name} = (  # {rule}", *(f"    {item}," for item in items), ")"] if items else [f"{name} = {empty}  # {rule}"]


def _format_dict[K, V](name: str, items: Mapping[K, V], rules: Sequence[str], rule: str) -> list[str]:
    if not items:
        return [f"{name} = {{}}  # {rule}"]
    lines = (f"    {key!r}: {value!r},  # {rule}" for (key, value), rule in zip(items.items(), rules, strict=True))
    return [f"{name} = {{  # {rule}", *lines, "}"]


def _write_rulebook(laws: Laws, overlay: Overlay, actions: Sequence[int], rival_laws: Sequence[Laws]) -> str:
    rules = [*_describe_general_laws(laws), *(_describe_law(key, effect) for key, effect in laws.contacts.items())]
    if laws.guess:
        rules.append(f"A guess, until it has been reached: {describe_contact(laws.guess)} completes the level.")
    if laws.around:
        turning = "; ".join(f"{_describe_figure(one)} into {_describe_figure(other)}" for one, other in laws.turns.items())
        rules.append(f"A click turns what is clicked and what stands in known places around it: {turning}.")
    if laws.goals:
        rules.append(f"The level is completed when {', or when '.join(_describe_goal(laws, goal) for goal in laws.goals)}.")
    rules += _describe_overlay(overlay)
    idle_actions = [action for action in actions if not any(action in body["moves"] for body in laws.bodies)]
    questions = [
        *([f"Is {describe_contact(laws.guess)} the goal?"] if laws.guess else []),
        *([] if laws.guess or laws.goals or _has_win(laws) else ["What completes a level? Nothing that was met has done it."]),
        *(f"What does action {action} do? It has not been seen to move the avatar." for action in idle_actions),
        *(["What law is behind the exceptions of R6 and R7?"] if laws.places or laws.histories else []),
        *dict.fromkeys(difference for other in rival_laws for difference in _describe_differences(laws, other)),
    ]
    return "\n\n".join(
        [
            "# The world, as far as it is known",
            "\n".join(f"- R{k}. {rule}" for k, rule in enumerate(rules, start=1)),
            "## Open questions",
            "\n".join(f"- Q{k}. {question}" for k, question in enumerate(questions, start=1)) or "None.",
            "",
        ]
    )


def _describe_differences(laws: Laws, rival: Laws) -> list[str]:
    """Say what another set of laws, which fits the record as well, says otherwise."""
    sentences = [_describe_law(key, effect) for key, effect in rival.contacts.items() if laws.contacts.get(key) != effect]
    if rival.guess and rival.guess != laws.guess:
        sentences.append(f"{_capitalise(describe_contact(rival.guess))} completes the level.")
    return [f"Or is it rather so, which fits the record as well: {sentence}" for sentence in sentences]


def _has_win(laws: Laws) -> bool:
    return any(happens == "win" for happens, _ in laws.contacts.values())


def _describe_general_laws(laws: Laws) -> list[str]:
    has_turns = len(laws.bodies) > 1 and any("turns" in body for body in laws.bodies)
    moves = [
        f"action {action} moves {_format_mover(laws, body)} {_format_move(*move)}"
        + (f" as {_describe_figure(body['look'])}" if has_turns else "")
        for body in laws.bodies
        for action, move in body["moves"].items()
    ]
    moves += [
        f"action {action} turns {_describe_figure(body['look'])} into {_describe_figure(laws.bodies[turned_body]['look'])}"
        for body in laws.bodies
        for action, turned_body in body.get("turns", {}).items()
    ]
    place_exceptions = [
        *(f"at the start, first frame {mark:08x}: {_describe_start(start)}" for mark, start in laws.starts.items()),
        *(
            f"action {action} {_format_place(row, col)}: {_describe_effect(effect)}"
            for (_, _, row, col, _, action), effect in laws.places.items()
        ),
    ]
    history_exceptions = [
        f"from first frame {mark:08x}, actions {' '.join(str(action) for action, _ in steps[:k])}: {_describe_effect(effect)}"
        for mark, steps in laws.histories
        for k, (_, effect) in enumerate(steps, start=1)
        if effect is not None
    ]
    mate_figures = [_describe_figure(body["look"]) for body in laws.bodies if "mate" in body]
    avatar_text = "No avatar is known: nothing has been seen to move as a whole."
    moves_text = "No action is known to move an avatar; any changes nothing."
    if laws.bodies:
        avatar_text = f"The avatar is {' or '.join(_describe_figure(body['look']) for body in laws.bodies if 'mate' not in body)}."
    if mate_figures:
        avatar_text += f" The same actions move {' and '.join(mate_figures)} too; each has its turn, in this order."
    if moves:
        moves_text = f"Moves: {'; '.join(moves)}. Any other action changes nothing."
    below_text = "the colour around it" if laws.under is None else f"colour {laws.under}"
    ground_text = f"Open ground is {_format_colours(laws.floor)}; any other colour is a figure on it."
    patch_sizes = ",".join(dict.fromkeys(f" {height} x {width} cells" for _, _, height, width in map(box, laws.bodies)))
    return [
        avatar_text,
        moves_text,
        f"The avatar hides what is below it, and that is seen again when it leaves. At the start {below_text} lies below.",
        ground_text if laws.floor else "No open ground is known yet.",
        f"What a move does is decided by the patch of ground it would lead to{patch_sizes and ':'}{patch_sizes}. "
        "The most particular of the laws below decides; what none of them names stops the avatar."
        + "".join(map(_describe_gate, laws.gates))
        + "".join(_describe_remote_effect(key, far) for key, far in laws.far.items()),
        f"Exceptions learnt by heart, one place each: {_format_list(place_exceptions)}",
        f"Exceptions learnt by heart, one history each: {_format_list(history_exceptions)}",
    ]


def _format_mover(laws: Laws, body: Body) -> str:
    """Name who is moved, where that needs to be said."""
    return "it" if not any("mate" in other for other in laws.bodies) else _format_drawing(body["look"])


def _describe_gate(gate: Gate) -> str:
    gate_look, key, place = gate
    key_text = _format_drawing(key) + (" in its own colour (`*`)" if any(ANY in line for line in gate_look) else "")
    if place is None:
        return f" A gate, {_format_drawing(gate_look)}, is shut while there is {key_text}, and open once none is left."
    place_text = ", ".join(f"{name} {number}" for name, number in zip(("row", "column"), place, strict=True) if number is not None)
    return f" A gate, {_format_drawing(gate_look)}, is open while {key_text} is shown at {place_text}, and else shut."


def _describe_remote_effect(key: ContactKey, remote_effect: RemoteEffect) -> str:
    if remote_effect[0][0] == "copy":
        _, row, col = remote_effect[0]
        return f" When the avatar meets {describe_contact(key)} it is shown at row {row}, column {col} too."
    colours = sorted({colour for *_, colour in remote_effect})
    top, left, bottom, right = (pick(cell[k] for cell in remote_effect) for pick, k in ((min, 0), (min, 1), (max, 0), (max, 1)))
    cells_text = f"{_format_cell_count(len(remote_effect))} in rows {top} to {bottom}, columns {left} to {right}"
    return f" When the avatar meets {describe_contact(key)} {cells_text} change to {_format_colours(colours)}."


def _format_drawing(look: Sequence[Sequence[int]]) -> str:
    return "`" + " / ".join("".join({-1: ".", ANY: "*"}.get(cell) or format(cell, "x") for cell in line) for line in look) + "`"


def _describe_goal(laws: Laws, goal: Goal) -> str:
    match goal:
        case ("none", look):
            return f"there is no {_describe_figure(look)} left"
        case ("left", (look, most)):
            return f"there are no more than {most} of {_describe_figure(look)} left"
        case ("alike", looks):
            return f"all of these are alike: {'; '.join(map(_describe_figure, looks))}"
        case ("match", (row, col, height, width, pattern_row, pattern_col, step, _, turn)):
            turn_text = f", {turn} exchanged," if turn != "as it is" else ""
            scale_text = f", {step} times as large" if step > 1 else ""
            place = f"the {height} x {width} cells from row {row}, column {col}"
            return f"{place} look like those from row {pattern_row}, column {pattern_col}{turn_text}{scale_text}"
        case ("home", home):
            return " and ".join(
                f"{_describe_figure(laws.bodies[body]['look'])} stands on {describe_contact(support).rstrip(',')}"
                for body, support in home
            )


def _format_list(items: Sequence[str]) -> str:
    if not items:
        return "none."
    more = f"; and {len(items) - _MAX_LISTED} more" if len(items) > _MAX_LISTED else ""
    return f"({len(items)}) {'; '.join(items[:_MAX_LISTED])}{more}."


def _format_place(row: int, col: int) -> str:
    return f"at row {row}, column {col}" if row >= 0 else "with no avatar"


def _format_cell_count(number: int) -> str:
    return f"{number} cell" + "s" * (number != 1)


def _describe_start(start: Start) -> str:
    body, row, col, _ = start[0]
    return "no avatar" if body < 0 else f"the avatar is at row {row}, column {col}, and what lies below it is known"


def _describe_effect(effect: MemorisedEffect) -> str:
    body, row, col, status, changes, _ = effect
    end_text = {COMPLETED: ", level completed", OVER: ", game over"}.get(status, "")
    cells_text = (
        "the whole ground repainted"
        if isinstance(changes, str)
        else f"{_format_cell_count(sum(run for *_, run in changes))} of ground changed"
    )
    return f"{cells_text}, {'no avatar' if body < 0 else f'avatar to row {row}, column {col}'}{end_text}"


def _format_move(rows: int, cols: int) -> str:
    parts = [f"{abs(n)} {names[n > 0]}" for n, names in ((rows, ("up", "down")), (cols, ("left", "right"))) if n]
    return " and ".join(parts)


def _format_colours(colours: Sequence[int]) -> str:
    return ("colour " if len(colours) == 1 else "colours ") + ", ".join(map(str, colours))


def _describe_figure(look: Sequence[Sequence[int]]) -> str:
    if len(look) == len(look[0]) == 1:
        return f"the single cell of colour {look[0][0]}"
    colours = sorted({colour for line in look for colour in line} - {-1})
    drawing = " / ".join("".join("." if colour < 0 else format(colour, "x") for colour in line) for line in look)
    return f"the figure of {len(look)} x {len(look[0])} cells in {_format_colours(colours)}: `{drawing}`"


def describe_contact(key: ContactKey) -> str:
    """Name what is met, in prose."""
    match key:
        case ("edge",):
            return "the edge of the frame"
        case ("floor",):
            return "open ground"
        case ("colour", colours):
            return f"a figure of {_format_colours(colours)}"
        case ("shape", rows):
            return f"a figure of the shape `{' / '.join(rows)}`, whatever its colours,"
        case ("exact", rows):
            return f"exactly {_describe_figure(rows)}"
        case ("exact", rows, gate_state):
            return f"exactly {_describe_figure(rows)}, a gate that is {gate_state},"
        case ("shape", rows, gate_state):
            return f"a figure of the shape `{' / '.join(rows)}`, a gate that is {gate_state},"
        case (inner, action):
            return f"{describe_contact(inner)}, met by action {action},"


def _describe_law(key: ContactKey, effect: Effect) -> str:
    outcome, paint = effect
    phrases = {
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
    if outcome.startswith("carry"):
        rows, cols = map(int, outcome.split()[1:])
        predicate = f"carries the avatar on, {_format_move(rows, cols)}"
    else:
        predicate = phrases[outcome]
    sentence = f"{_capitalise(describe_contact(key))} {predicate}"
    if paint:
        colours = sorted({colour for *_, colour in paint})
        sentence += (
            f", and {_format_cell_count(len(paint))} there {'turns' if len(paint) == 1 else 'turn'} to {_format_colours(colours)}"
        )
    return sentence + "."


def _capitalise(text: str) -> str:
    return text[0].upper() + text[1:]
