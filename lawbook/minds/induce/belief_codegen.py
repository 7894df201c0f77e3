"""Doubts as text: the rules Uk that say in prose what is not known, and the table that cites them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import Any

from lawbook.core.hypothesis import ENGINE, Hypothesis
from lawbook.minds.induce.codegen import describe_contact, read_source, write_hypothesis
from lawbook.minds.induce.doubt_induction import RULES, Unknown
from lawbook.minds.induce.law_tables import Laws
from lawbook.minds.induce.overlay_removal import Overlay

_ENGINE_SOURCE = '''"""A walking world: the contract over `walker` and `layers`, and over both what is not known of them."""

import learnt
import unknown
from beliefs import Believer
from layers import Layers
from watcher import Watcher

belief = Believer(unknown, Layers(learnt, Watcher(learnt)))
initial_state = belief.initial_state
step = belief.step
render = belief.render
is_goal = belief.is_goal
is_over = belief.is_over
update = belief.update
actions = belief.actions
key = belief.key
'''
_MAX_LISTED = 12
"""How many contacts the rulebook names one by one."""


def write_belief(
    laws: Laws, overlay: Overlay, unknown: Unknown, actions: Sequence[int], rival_laws: Sequence[Laws] = ()
) -> Hypothesis:
    """Write rulebook and program of these laws, and of what is not known beside them.

    actions: ids of the world's actions. rival_laws: those that fit the record as well; the rulebook asks which are right.
    """
    plain = write_hypothesis(laws, overlay, actions, rival_laws)
    sentences = describe_doubts(unknown, laws, overlay)
    rules = "\n".join(f"- U{unknown.rules[name]}. {sentence}" for name, sentence in sentences.items())
    heading = "## Open questions"
    rulebook = plain.rulebook.replace(heading, f"## What is not known\n{rules}\n\n{heading}", 1)
    files = {
        **plain.files,
        ENGINE: _ENGINE_SOURCE,
        "beliefs.py": read_source("beliefs.py"),
        "nearby.py": read_source("nearby.py"),
        "watcher.py": read_source("watcher.py"),
        "unknown.py": _write_table(unknown, sentences),
    }
    return Hypothesis(rulebook, files)


def describe_doubts(unknown: Unknown, laws: Laws, overlay: Overlay) -> dict[str, str]:
    """Say in prose what is not known, by the name of its rule in RULES; nothing of what is known."""
    sentences = {
        "idle": _describe_idle(unknown, laws),
        "unmet": "What comes of meeting something that no law names is not known before it has been met: neither what changes then "
        "nor whether the level ends.",
        "contacts": _describe_contacts(unknown),
        "areas": _describe_areas(unknown),
        "hidden": "What lies below the figures at the start of a level shows only when they leave." if unknown.hidden else "",
        "overlaps": "Where two things share a place, which of them is in front shows only there." if unknown.overlaps else "",
        "dark": f"What lies in the dark, colour {overlay.view[0]}, is not known before it has been shown." if overlay.view else "",
        "unseen": "While the avatar is not seen, nothing is known of where it is and of what actions do." if laws.bodies else "",
        "presses": _describe_presses(unknown),
        "endless": "When the game is over shows nowhere." if unknown.endless else "",
    }
    return {name: sentences[name] for name in RULES if sentences[name]}


def _describe_idle(unknown: Unknown, laws: Laws) -> str:
    parts = []
    if unknown.idle:
        parts.append(f"What {_format_actions(unknown.idle)} may change has been seen too seldom to be said.")
    if unknown.has_clicks:
        parts.append("What a click changes on a colour that was never clicked is not known.")
    return " ".join(parts)


def _format_actions(actions: Sequence[int]) -> str:
    return ("action " if len(actions) == 1 else "actions ") + ", ".join(map(str, actions))


def _describe_contacts(unknown: Unknown) -> str:
    if not unknown.contacts:
        return ""
    listed = [_describe_context(key) for key in unknown.contacts][:_MAX_LISTED]
    more = f"; and {len(unknown.contacts) - _MAX_LISTED} more" if len(unknown.contacts) > _MAX_LISTED else ""
    return f"What comes of these is one thing at one time and another at another, why was not found: {'; '.join(listed)}{more}."


def _describe_context(key: Any) -> str:
    match key:
        case ("at", row, col, action):
            return f"action {action} that leads to row {row}, column {col}"
        case ("when", ground, row, col, action):
            return f"action {action} that leads to row {row}, column {col}, on ground {ground:08x}"
        case (("act",), action):
            return f"action {action} where it meets nothing"
        case (("click", colour), _):
            return f"a click on colour {colour}"
    return describe_contact(key).rstrip(",")


def _describe_presses(unknown: Unknown) -> str:
    if unknown.presses is None:
        return ""
    axis, reach, _ = unknown.presses
    line = ("row", "column")[axis]
    return (
        f"What a click on a button, in colour {' or '.join(map(str, unknown.pressed))}, makes of a cell is told by what its {line} "
        f"shows within {reach} cells of it; where that has not been seen yet, or has led to two things, it is not known."
    )


def _describe_areas(unknown: Unknown) -> str:
    parts = [
        f"rows {top} to {bottom}, columns {left} to {right}, where they show {' or '.join(map(str, colours))}"
        for top, bottom, left, right, colours in unknown.areas
    ]
    return f"How these cells go on shows nowhere: {'; '.join(parts)}." if parts else ""


def _write_table(unknown: Unknown, sentences: Mapping[str, str]) -> str:
    lines = ['"""What is not known."""', "", "rules = {"]
    lines += [
        f'    "{name}": {number},' + (f"  # U{number}" if name in sentences else "") for name, number in unknown.rules.items()
    ]
    lines += ["}"]
    for entry in fields(unknown):
        value = getattr(unknown, entry.name)
        if entry.name == "contacts":
            lines += ["contacts = {", *(f"    {key!r}: {doubt!r}," for key, doubt in value.items()), "}"]
        else:
            lines += [f"{entry.name} = {value!r}"]
    return "\n".join(lines) + "\n"
