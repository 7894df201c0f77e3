"""What is held to be true: what each kind of contact does; and the rivals that the record cannot tell apart."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from lawbook.minds.induce.aims import aims
from lawbook.minds.induce.goals import guesses, survey
from lawbook.minds.induce.study import Meeting, Study
from lawbook.minds.induce.tables import Contact, Effect, Laws
from lawbook.minds.induce.taps import taps
from lawbook.minds.induce.walker import Walker

DESCRIPTIONS = ("colour", "shape", "exact")
"""Ways to say what it is that completes or ends a level, the shortest first."""


def rivals(seen: Study) -> list[Laws]:
    """Every set of laws that fits the record and that it cannot tell apart, the shortest first; at least one.

    They differ in how a completing or a deadly contact is described (by colours, by shape, by the exact patch), and, while nothing
    known completes this level, in what is guessed to be its goal. Two that differ in nothing this level holds are one.
    """
    clicked = taps(seen.record)
    around = dict(clicked.around)
    tapped = {"click": _click(seen) if around else None, "turns": dict(clicked.turns), "around": around}
    bare = Laws(seen.bodies, _floor(seen), seen.under, **tapped)  # type: ignore[arg-type]
    if around:
        return aims(bare, seen)
    walker = Walker(bare)
    met: dict[Contact, list[Meeting]] = {}
    acts: dict[Contact, list[Meeting]] = {}
    for meeting in seen.meetings:
        (acts if meeting.happens == "act" else met).setdefault(walker.meets(meeting.ground, seen.width, *meeting.spot), []).append(
            meeting
        )
    effects = {contact: _effect(contact, meetings) for contact, meetings in met.items()}
    one_way = _one_way(met, effects) | _acts(acts)
    within = survey(walker, seen.now(), seen.width)
    distinct: dict[Any, Laws] = {}
    for die in DESCRIPTIONS:
        for win in DESCRIPTIONS:
            laws = replace(bare, contacts=_contacts(effects, win, die) | one_way)
            held = Walker(laws)
            distinct.setdefault(tuple(held.effect(contact, None) for contact in within), laws)
    if _unexplained(met, effects):
        return [aimed for laws in distinct.values() for aimed in aims(laws, seen)]
    first, *others = [guesses(laws, seen, within) for laws in distinct.values()]
    return [*first, *(found[0] for found in others)]


def _unexplained(met: Mapping[Contact, Sequence[Meeting]], effects: Mapping[Contact, Effect]) -> bool:
    """Has a level been completed by a contact that does not always do so?"""
    return any(
        meeting.happens == "win" and effects[contact][0] != "win" for contact, meetings in met.items() for meeting in meetings
    )


def _click(seen: Study) -> int | None:
    """The action that clicks."""
    return next((action.id for trajectory in seen.record for action in trajectory.actions if action.x is not None), None)


def _floor(seen: Study) -> tuple[int, ...]:
    """Colours of open ground: in each level, the one that was entered most often where nothing else lay."""
    counted: dict[int, Counter[int]] = defaultdict(Counter)
    walker = Walker(Laws(seen.bodies))
    for meeting in seen.meetings:
        contact = walker.meets(meeting.ground, seen.width, *meeting.spot)
        uniform = len(contact) == 2 and len(contact[1][1]) == 1
        if meeting.action and meeting.happens == "enter" and uniform and not meeting.paint:
            counted[seen.record.trajectories[meeting.step[0]].first.level][contact[1][1][0]] += 1
    return tuple(sorted({colours.most_common(1)[0][0] for colours in counted.values()}))


def _effect(contact: Contact, meetings: Sequence[Meeting]) -> Effect:
    """What a contact does: what it did most often; that it has once completed a level outweighs that it did not always."""
    counted = Counter(meeting.happens for meeting in meetings)
    if counted["push"]:
        counted["stop"] = counted["enter"] = counted["win"] = 0  # where it stops, what stands behind decides
    happens = "win" if counted["win"] and contact != (("floor",),) else counted.most_common(1)[0][0]
    fitting = [meeting for meeting in meetings if meeting.happens == happens]
    whole = [meeting for meeting in fitting if meeting.whole] or fitting
    paint = Counter(tuple(sorted(meeting.paint)) for meeting in whole).most_common(1)[0][0]
    return happens, () if happens == "win" else paint


def _contacts(effects: Mapping[Contact, Effect], win: str, die: str) -> dict[Any, Effect]:
    """Laws for contacts, each as general as asked for and as the others allow."""
    sharing: dict[Any, set[Effect]] = defaultdict(set)
    for contact, effect in effects.items():
        for key in contact:
            sharing[key].add(effect)
    laws: dict[Any, Effect] = {}
    for contact, effect in effects.items():
        wanted = {"win": win, "die": die}.get(effect[0].split()[0], "colour")
        kinds = [key[0] for key in contact]
        general = kinds.index(wanted) if wanted in kinds else len(kinds) - 1
        key = next((key for key in reversed(contact[: general + 1]) if len(sharing[key]) == 1), contact[0])
        laws[key] = effect
    for contact, effect in effects.items():
        if next((laws[key] for key in contact if key in laws), None) != effect:
            laws[contact[0]] = effect
    return laws


def _acts(acts: Mapping[Contact, Sequence[Meeting]]) -> dict[Any, Effect]:
    """What actions do to what stands before an avatar that turns: the latest that any did, the rest are exceptions."""
    laws: dict[Any, Effect] = {}
    for contact, meetings in acts.items():
        for meeting in meetings:
            if meeting.paint and contact[0][0] != "edge":
                laws[contact[0], meeting.action] = "act", tuple(sorted(meeting.paint))
    return laws


def _one_way(met: Mapping[Contact, Sequence[Meeting]], effects: Mapping[Contact, Effect]) -> dict[Any, Effect]:
    """Contacts that do something else for one action, always, and in more than one place."""
    laws: dict[Any, Effect] = {}
    for contact, meetings in met.items():
        usual = effects[contact][0]
        odd = dict.fromkeys(meeting.action for meeting in meetings if meeting.action and meeting.happens != usual)
        for action in odd:
            mine = [meeting for meeting in meetings if meeting.action == action]
            if usual != "win" and len({m.happens for m in mine}) == 1 and len({m.spot for m in mine}) > 1:
                laws[contact[0], action] = _effect(contact, mine)
    return laws
