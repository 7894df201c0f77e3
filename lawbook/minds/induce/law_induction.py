"""Law induction: what each kind of contact does; and the rivals that the record cannot tell apart."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace

from lawbook.minds.induce.clicks import induce_click_laws
from lawbook.minds.induce.contact_goals import propose_contact_goals, survey
from lawbook.minds.induce.contact_log import ContactEvent, RecordAnalysis
from lawbook.minds.induce.law_tables import Laws
from lawbook.minds.induce.locks import find_gates
from lawbook.minds.induce.placement_goals import propose_placement_goals
from lawbook.minds.induce.remote_effects import find_remote_effect
from lawbook.minds.induce.sliding import relabel_carrying, relocate_slide_ends
from lawbook.minds.induce.state_goals import propose_state_goals
from lawbook.minds.induce.types import ColouredCell, Contact, ContactKey, Effect, RemoteEffect
from lawbook.minds.induce.walker import Walker

ContactOutcome = tuple[str, tuple[ColouredCell, ...], RemoteEffect]
"""What a contact does, what is painted there, and what it changes elsewhere."""
DESCRIPTIONS = ("colour", "shape", "exact")
"""Ways to say what it is that completes or ends a level, the shortest first."""


def find_rival_laws(analysis: RecordAnalysis) -> list[Laws]:
    """Find every set of laws that fits the record and that it cannot tell apart, the shortest first; at least one.

    They differ in how a completing or a deadly contact is described (by colours, by shape, by the exact patch), and, while nothing
    known completes this level, in what is guessed to be its goal. Two that differ in nothing this level holds are one.
    """
    click_laws = induce_click_laws(analysis.record)
    around = dict(click_laws.around)
    base_laws = Laws(
        analysis.bodies,
        _infer_floor(analysis),
        analysis.under,
        click=_find_click_action(analysis) if around else None,
        turns=dict(click_laws.turns),
        around=around,
    )
    if around:
        return propose_state_goals(base_laws, analysis)
    base_laws = replace(base_laws, gates=find_gates(Walker(base_laws), analysis))
    walker = Walker(base_laws)
    events_by_contact: dict[Contact, list[ContactEvent]] = {}
    act_events: dict[Contact, list[ContactEvent]] = {}
    for event in analysis.contact_events:
        (act_events if event.outcome == "act" else events_by_contact).setdefault(
            walker.meets(event.ground, analysis.width, *event.spot), []
        ).append(event)
    events_by_contact = relocate_slide_ends(walker, events_by_contact, analysis)
    events_by_contact = {contact: relabel_carrying(walker, contact, events) for contact, events in events_by_contact.items()}
    effects = {contact: _infer_outcome(contact, events, analysis.width) for contact, events in events_by_contact.items()}
    one_way_laws = _infer_one_way_laws(events_by_contact, effects, analysis.width) | _infer_act_laws(act_events, analysis.width)
    remote_effects = _infer_remote_effects(effects) | {key: effect[2] for key, effect in one_way_laws.items() if effect[2]}
    level_contacts = survey(walker, analysis.get_current_frame(), analysis.width)
    level_contacts = {
        contact: places
        for contact, places in level_contacts.items()
        if contact[-1][0] != "colour" or analysis.dark_colour not in contact[-1][1]
    }
    distinct: dict[tuple[Effect, ...], Laws] = {}
    for die_kind in DESCRIPTIONS:
        for win_kind in DESCRIPTIONS:
            contact_laws = _infer_contact_laws(_drop_remote_effects(effects), win_kind, die_kind)
            contact_laws |= {key: effect[:2] for key, effect in one_way_laws.items()}
            laws = replace(base_laws, contacts=contact_laws, far=remote_effects)
            variant_walker = Walker(laws)
            distinct.setdefault(tuple(variant_walker.effect(contact, None) for contact in level_contacts), laws)
    if any("mate" in body for body in analysis.bodies):
        return [variant for laws in distinct.values() for variant in propose_placement_goals(laws, analysis)]
    if _has_unexplained_completion(events_by_contact, effects):
        return [variant for laws in distinct.values() for variant in propose_state_goals(laws, analysis)]
    first_variants, *other_variants = [propose_contact_goals(laws, analysis, level_contacts) for laws in distinct.values()]
    usual_effects = {
        contact: _infer_outcome(contact, failed_events, analysis.width)
        for contact, events in events_by_contact.items()
        if (failed_events := _find_failed_completions(events))
    }
    if usual_effects:  # what completed a level once has not always done so: perhaps it was the last of them
        contact_laws = _infer_contact_laws(_drop_remote_effects(effects | usual_effects), *DESCRIPTIONS[:1] * 2)
        laws = replace(next(iter(distinct.values())), contacts=contact_laws)
        first_variants = [variant for variant in propose_state_goals(laws, analysis) if variant.goals] + first_variants
    if (
        len(first_variants) == 1
        and first_variants[0].guess is None
        and not any(happens == "win" for happens, _ in first_variants[0].contacts.values())
    ):
        first_variants += [
            variant for variant in propose_state_goals(first_variants[0], analysis) if variant.goals
        ]  # all was met, and nothing did it: a state of the whole
    return [*first_variants, *(variants[0] for variants in other_variants)]


def _drop_remote_effects(effects: Mapping[Contact, ContactOutcome]) -> dict[Contact, Effect]:
    """Return what contacts do and paint where they are."""
    return {contact: effect[:2] for contact, effect in effects.items()}


def _find_failed_completions(events: Sequence[ContactEvent]) -> list[ContactEvent]:
    """The times when a contact did not complete the level that it completed at another time; none where it always or never did."""
    failed_events = [event for event in events if event.outcome != "win"]
    return failed_events if len(failed_events) < len(events) else []


def _has_unexplained_completion(
    events_by_contact: Mapping[Contact, Sequence[ContactEvent]], effects: Mapping[Contact, ContactOutcome]
) -> bool:
    """Has a level been completed by a contact that does not always do so?"""
    return any(
        event.outcome == "win" and effects[contact][0] != "win" for contact, events in events_by_contact.items() for event in events
    )


def _find_click_action(analysis: RecordAnalysis) -> int | None:
    """The action that clicks."""
    return next((action.id for trajectory in analysis.record for action in trajectory.actions if action.x is not None), None)


def _infer_floor(analysis: RecordAnalysis) -> tuple[int, ...]:
    """Colours of open ground: in each level, the one that was entered most often where nothing else lay."""
    counts: dict[int, Counter[int]] = defaultdict(Counter)
    walker = Walker(Laws(analysis.bodies))
    for event in analysis.contact_events:
        contact = walker.meets(event.ground, analysis.width, *event.spot)
        is_uniform = len(contact) == 2 and len(contact[1][1]) == 1
        if event.action and event.outcome == "enter" and is_uniform and not event.paint:
            counts[analysis.record.trajectories[event.step[0]].first.level][contact[1][1][0]] += 1
    return tuple(sorted({colours.most_common(1)[0][0] for colours in counts.values()}))


def _infer_outcome(contact: Contact, events: Sequence[ContactEvent], width: int) -> ContactOutcome:
    """Infer what a contact does: what it did most often; that it has once completed a level outweighs that it did not always."""
    counts = Counter(event.outcome for event in events)
    if counts["push"]:
        counts["stop"] = counts["enter"] = counts["win"] = 0  # where it stops, what stands behind decides
    if counts["slide"]:
        counts["enter"] = 0  # where it stays, what comes next has stopped it
    outcome = "win" if counts["win"] and contact != (("floor",),) else counts.most_common(1)[0][0]
    matching_events = [event for event in events if event.outcome == outcome]
    fully_seen_events = [event for event in matching_events if event.is_fully_seen] or matching_events
    paint = Counter(tuple(sorted(event.paint)) for event in fully_seen_events).most_common(1)[0][0]
    if outcome == "win":
        return outcome, (), ()
    figure = contact[0][1] if contact[0][0] == "exact" else None
    return outcome, paint, find_remote_effect(figure, matching_events, width) if outcome in ("enter", "stop", "act") else ()


def _infer_remote_effects(effects: Mapping[Contact, ContactOutcome]) -> dict[ContactKey, RemoteEffect]:
    """Infer what contacts change elsewhere, each said as generally as the others allow."""
    effects_by_key: dict[ContactKey, set[RemoteEffect]] = defaultdict(set)
    for contact, (_, _, remote_effect) in effects.items():
        for key in contact:
            effects_by_key[key].add(remote_effect)
    remote_contacts = {contact: remote_effect for contact, (_, _, remote_effect) in effects.items() if remote_effect}
    return {
        next((key for key in reversed(contact) if len(effects_by_key[key]) == 1), contact[0]): remote_effect
        for contact, remote_effect in remote_contacts.items()
    }


def _infer_contact_laws(effects: Mapping[Contact, Effect], win_kind: str, die_kind: str) -> dict[ContactKey, Effect]:
    """Laws for contacts, each as general as asked for and as the others allow."""
    effects_by_key: dict[ContactKey, set[Effect]] = defaultdict(set)
    for contact, effect in effects.items():
        for key in contact:
            effects_by_key[key].add(effect)
    laws: dict[ContactKey, Effect] = {}
    for contact, effect in effects.items():
        wanted_kind = {"win": win_kind, "die": die_kind}.get(effect[0].split()[0], "colour")
        kinds = [key[0] for key in contact]
        most_general = (
            1 if contact[0][0] == "exact" and len(contact[0]) > 2 else len(kinds) - 1
        )  # of a gate, that it is open or shut
        most_general = kinds.index(wanted_kind) if wanted_kind in kinds[: most_general + 1] else most_general
        key = next((key for key in reversed(contact[: most_general + 1]) if len(effects_by_key[key]) == 1), contact[0])
        laws[key] = effect
    for contact, effect in effects.items():
        if next((laws[key] for key in contact if key in laws), None) != effect:
            laws[contact[0]] = effect
    return laws


def _infer_act_laws(act_events: Mapping[Contact, Sequence[ContactEvent]], width: int) -> dict[ContactKey, ContactOutcome]:
    """Infer what actions do to what stands before an avatar that turns: the latest that any did, the rest are exceptions."""
    laws: dict[ContactKey, ContactOutcome] = {}
    for contact, events in act_events.items():
        for action in dict.fromkeys(event.action for event in events if event.action is not None):
            action_events = [event for event in events if event.action == action and event.paint]
            if action_events and contact[0][0] != "edge":
                outcome = _infer_outcome(contact, action_events[-1:], width)
                laws[contact[0], action] = *outcome[:2], _infer_outcome(contact, action_events, width)[2]
    return laws


def _infer_one_way_laws(
    events_by_contact: Mapping[Contact, Sequence[ContactEvent]], effects: Mapping[Contact, ContactOutcome], width: int
) -> dict[ContactKey, ContactOutcome]:
    """Contacts that do something else for one action, always, and in more than one place."""
    laws: dict[ContactKey, ContactOutcome] = {}
    for contact, events in events_by_contact.items():
        usual_outcome = effects[contact][0]
        unusual_actions = dict.fromkeys(event.action for event in events if event.action and event.outcome != usual_outcome)
        for action in unusual_actions:
            action_events = [event for event in events if event.action == action]
            if usual_outcome != "win" and len({m.outcome for m in action_events}) == 1 and len({m.spot for m in action_events}) > 1:
                laws[contact[0], action] = _infer_outcome(contact, action_events, width)
    return laws
