"""What is held to be true: what each kind of contact does; and the rivals that the record cannot tell apart."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from lawbook.minds.induce.clicks import taps
from lawbook.minds.induce.contact_goals import guesses, survey
from lawbook.minds.induce.contact_log import Meeting, Study
from lawbook.minds.induce.law_tables import Contact, Effect, Laws
from lawbook.minds.induce.locks import gates
from lawbook.minds.induce.placement_goals import homes
from lawbook.minds.induce.remote_effects import Far, elsewhere
from lawbook.minds.induce.sliding import carried, slid
from lawbook.minds.induce.state_goals import aims
from lawbook.minds.induce.walker import Walker

Told = tuple[str, tuple[tuple[int, int, int], ...], Far]
"""What a contact does, what is painted there, and what it changes elsewhere."""
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
    bare = replace(bare, gates=gates(Walker(bare), seen))
    walker = Walker(bare)
    met: dict[Contact, list[Meeting]] = {}
    acts: dict[Contact, list[Meeting]] = {}
    for meeting in seen.meetings:
        (acts if meeting.happens == "act" else met).setdefault(walker.meets(meeting.ground, seen.width, *meeting.spot), []).append(
            meeting
        )
    met = slid(walker, met, seen)
    met = {contact: carried(walker, contact, meetings) for contact, meetings in met.items()}
    effects = {contact: _told(contact, meetings, seen.width) for contact, meetings in met.items()}
    one_way = _one_way(met, effects, seen.width) | _acts(acts, seen.width)
    far = _far(effects) | {key: effect[2] for key, effect in one_way.items() if effect[2]}
    within = survey(walker, seen.now(), seen.width)
    within = {
        contact: places for contact, places in within.items() if contact[-1][0] != "colour" or seen.dark not in contact[-1][1]
    }
    distinct: dict[Any, Laws] = {}
    for die in DESCRIPTIONS:
        for win in DESCRIPTIONS:
            told = _contacts({contact: effect[:2] for contact, effect in effects.items()}, win, die)
            told |= {key: effect[:2] for key, effect in one_way.items()}
            laws = replace(bare, contacts=told, far=far)
            held = Walker(laws)
            distinct.setdefault(tuple(held.effect(contact, None) for contact in within), laws)
    if any("mate" in body for body in seen.bodies):
        return [aimed for laws in distinct.values() for aimed in homes(laws, seen)]
    if _unexplained(met, effects):
        return [aimed for laws in distinct.values() for aimed in aims(laws, seen)]
    first, *others = [guesses(laws, seen, within) for laws in distinct.values()]
    usual = {contact: _told(contact, rest, seen.width) for contact, meetings in met.items() if (rest := _in_vain(meetings))}
    if usual:  # what completed a level once has not always done so: perhaps it was the last of them
        told = {contact: effect[:2] for contact, effect in (effects | usual).items()}
        laws = replace(next(iter(distinct.values())), contacts=_contacts(told, *DESCRIPTIONS[:1] * 2))
        first = [aimed for aimed in aims(laws, seen) if aimed.goals] + first
    if len(first) == 1 and first[0].guess is None and not any(happens == "win" for happens, _ in first[0].contacts.values()):
        first += [aimed for aimed in aims(first[0], seen) if aimed.goals]  # all was met, and nothing did it: a state of the whole
    return [*first, *(found[0] for found in others)]


def _in_vain(meetings: Sequence[Meeting]) -> list[Meeting]:
    """The times when a contact did not complete the level that it completed at another time; none where it always or never did."""
    rest = [meeting for meeting in meetings if meeting.happens != "win"]
    return rest if len(rest) < len(meetings) else []


def _unexplained(met: Mapping[Contact, Sequence[Meeting]], effects: Mapping[Contact, Told]) -> bool:
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


def _told(contact: Contact, meetings: Sequence[Meeting], width: int) -> Told:
    """What a contact does: what it did most often; that it has once completed a level outweighs that it did not always."""
    counted = Counter(meeting.happens for meeting in meetings)
    if counted["push"]:
        counted["stop"] = counted["enter"] = counted["win"] = 0  # where it stops, what stands behind decides
    if counted["slide"]:
        counted["enter"] = 0  # where it stays, what comes next has stopped it
    happens = "win" if counted["win"] and contact != (("floor",),) else counted.most_common(1)[0][0]
    fitting = [meeting for meeting in meetings if meeting.happens == happens]
    whole = [meeting for meeting in fitting if meeting.whole] or fitting
    paint = Counter(tuple(sorted(meeting.paint)) for meeting in whole).most_common(1)[0][0]
    if happens == "win":
        return happens, (), ()
    figure = contact[0][1] if contact[0][0] == "exact" else None
    return happens, paint, elsewhere(figure, fitting, width) if happens in ("enter", "stop", "act") else ()


def _far(effects: Mapping[Contact, Told]) -> dict[Any, Far]:
    """What contacts change elsewhere, each said as generally as the others allow."""
    sharing: dict[Any, set[Far]] = defaultdict(set)
    for contact, (_, _, far) in effects.items():
        for key in contact:
            sharing[key].add(far)
    changing = {contact: far for contact, (_, _, far) in effects.items() if far}
    return {
        next((key for key in reversed(contact) if len(sharing[key]) == 1), contact[0]): far for contact, far in changing.items()
    }


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
        general = 1 if contact[0][0] == "exact" and len(contact[0]) > 2 else len(kinds) - 1  # of a gate, that it is open or shut
        general = kinds.index(wanted) if wanted in kinds[: general + 1] else general
        key = next((key for key in reversed(contact[: general + 1]) if len(sharing[key]) == 1), contact[0])
        laws[key] = effect
    for contact, effect in effects.items():
        if next((laws[key] for key in contact if key in laws), None) != effect:
            laws[contact[0]] = effect
    return laws


def _acts(acts: Mapping[Contact, Sequence[Meeting]], width: int) -> dict[Any, Told]:
    """What actions do to what stands before an avatar that turns: the latest that any did, the rest are exceptions."""
    laws: dict[Any, Told] = {}
    for contact, meetings in acts.items():
        for action in dict.fromkeys(meeting.action for meeting in meetings):
            mine = [meeting for meeting in meetings if meeting.action == action and meeting.paint]
            if mine and contact[0][0] != "edge":
                told = _told(contact, mine[-1:], width)
                laws[contact[0], action] = *told[:2], _told(contact, mine, width)[2]
    return laws


def _one_way(met: Mapping[Contact, Sequence[Meeting]], effects: Mapping[Contact, Told], width: int) -> dict[Any, Told]:
    """Contacts that do something else for one action, always, and in more than one place."""
    laws: dict[Any, Told] = {}
    for contact, meetings in met.items():
        usual = effects[contact][0]
        odd = dict.fromkeys(meeting.action for meeting in meetings if meeting.action and meeting.happens != usual)
        for action in odd:
            mine = [meeting for meeting in meetings if meeting.action == action]
            if usual != "win" and len({m.happens for m in mine}) == 1 and len({m.spot for m in mine}) > 1:
                laws[contact[0], action] = _told(contact, mine, width)
    return laws
