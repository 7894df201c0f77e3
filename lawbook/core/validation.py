"""What minds and callers hand in, made exactly what it claims to be, or refused: the one place where their types are looked at.

Everything here returns plain, private values (no subclasses, nothing that can change afterwards) or raises RefusedError with a
sentence. What the values mean is the gate's business.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from lawbook.core.hypothesis import MAX_BYTES, Decision, Proposal
from lawbook.core.record import MAX_NUMBER, Action
from lawbook.core.results import Judgement, Limits, Probe, Subgoal
from lawbook.errors import RefusedError

MAX_WORDS = 100_000
"""Characters of a question, a reason, a diagnosis, a note, a subgoal."""
MAX_TEXTS = 2 * MAX_BYTES
"""Characters of a rulebook, or of all files together. What is merely too long to be tried is for the gate to refuse."""
MAX_SECONDS = 3600.0
"""Of one search."""
_MAX_ACTIONS = 1_000_000
_MAX_RECEIPT = 32


def words(given: object, what: str, most: int = MAX_WORDS) -> str:
    """`given` as text. what: `A note`, for the sentence."""
    if not isinstance(given, str):
        raise RefusedError(f"{what} is text, not {_kind(given)}.")
    text = str.__str__(given)
    if len(text) > most:
        raise RefusedError(f"{what} of {len(text):,} characters is too long; keep it under {most:,}.")
    return text


def action(given: object) -> Action:
    """An Action of whole numbers that fit 31 bits, with both coordinates or none."""
    if type(given) is not Action:
        raise RefusedError(f"{_kind(given, capital=True)} is no action; give an Action: its id, and x and y where it is a click.")
    if not all(type(part) is int or (part is None and place > 0) for place, part in enumerate(given)):
        raise RefusedError(f"An action is whole numbers: an id, and x and y for a click; not {', '.join(map(_kind, given))}.")
    if any(part is not None and abs(part) >= MAX_NUMBER for part in given):
        raise RefusedError(f"An action with numbers beyond {MAX_NUMBER:,} is none; ids and coordinates are small whole numbers.")
    if (given.x is None) != (given.y is None):
        raise RefusedError("A click has x (column) and y (row); give both, or neither.")
    return given


def actions(given: object) -> tuple[Action, ...]:
    """A sequence of actions, read once."""
    if isinstance(given, str | Action) or not isinstance(given, Iterable):
        raise RefusedError(f"A plan is a sequence of actions, not {_kind(given)}.")
    found: list[Action] = []
    for one in given:
        if len(found) == _MAX_ACTIONS:
            raise RefusedError(f"A plan of more than {_MAX_ACTIONS:,} actions is none; find a shorter way.")
        found.append(action(one))
    return tuple(found)


def proposal(given: object) -> Proposal:
    """A Proposal of texts, of a size that can be looked at."""
    if not isinstance(given, Proposal):
        raise RefusedError(f"{_kind(given, capital=True)} is no proposal; give a decision, a rulebook, files and a diagnosis.")
    if not isinstance(given.decision, Decision):
        raise RefusedError(f"The decision of a proposal is one of {', '.join(Decision)}, not {_kind(given.decision)}.")
    rulebook = None if given.rulebook is None else words(given.rulebook, "A rulebook", MAX_TEXTS)
    files = None if given.files is None else _files(given.files)
    unusable = words(given.unusable, "Why a proposal is unusable")
    return Proposal(given.decision, rulebook, files, words(given.diagnosis, "A diagnosis"), unusable)


def exploration(given: object) -> Subgoal | Probe:
    if isinstance(given, Probe):
        return Probe(action(given.action), words(given.question, "The question of a probe"))
    if not isinstance(given, Subgoal):
        raise RefusedError(f"{_kind(given, capital=True)} is no subgoal; give the source of `def subgoal(state) -> bool`.")
    source, question = words(given.source, "The source of a subgoal"), words(given.question, "The question of a subgoal")
    return Subgoal(source, question, words(given.unusable, "Why a subgoal is unusable"))


def subgoal(given: object) -> Subgoal:
    """A Subgoal to plan for: raises RefusedError for an unusable one with the reason it brings."""
    found = exploration(given)
    if not isinstance(found, Subgoal):
        raise RefusedError("A probe is no subgoal; give the source of `def subgoal(state) -> bool`.")
    if found.unusable:
        raise RefusedError(found.unusable)
    return found


def judgement(given: object) -> Judgement:
    """A Judgement that says yes or no and nothing in between."""
    if not isinstance(given, Judgement) or not isinstance(given.faithful, bool):
        raise RefusedError("A judgement says faithful, True or False, and why.")
    if not isinstance(given.rules, Mapping) or len(given.rules) > MAX_WORDS:
        raise RefusedError("The rules of a judgement are a mapping from a rule to where it is implemented, or what is missing.")
    rules = {words(rule, "A rule's name", 99): words(where, "What is said of a rule") for rule, where in given.rules.items()}
    return Judgement(given.faithful, rules, words(given.reason, "The reason of a judgement"))


def limits(given: object) -> Limits:
    """Limits that end a search."""
    if not isinstance(given, Limits):
        raise RefusedError(f"{_kind(given, capital=True)} is no limits of a search; give nodes, depth and seconds.")
    if type(given.nodes) is not int or given.nodes < 1:
        raise RefusedError("The nodes of a search are a whole number from 1.")
    if given.depth is not None and (type(given.depth) is not int or given.depth < 0):
        raise RefusedError("The depth of a search is a whole number from 0.")
    if type(given.seconds) not in (int, float) or not 0 < given.seconds <= MAX_SECONDS:
        raise RefusedError(f"The seconds of a search are a number above 0, up to {MAX_SECONDS:g}.")
    return given


def receipt(given: object) -> dict[str, float | int | str]:
    """As much of a receipt as can be written down; it decides nothing, so what cannot is left out."""
    kept: dict[str, float | int | str] = {}
    if isinstance(given, Mapping):
        for name, value in given.items():
            plain = type(value) in (bool, int, float) and abs(value) < 1e18  # NaN is not
            if type(name) is str and len(name) < 99 and len(kept) < _MAX_RECEIPT and (plain or type(value) is str):
                kept[name] = value[:999] if type(value) is str else value
    return kept


def failure(error: BaseException) -> str:
    """`KeyError: 'x'`, on one line and not too long, whatever its __str__ does."""
    try:
        said = " ".join(str(error).split())[:300]
    except Exception:
        said = "(it cannot say why)"
    return f"{type(error).__name__[:80]}: {said}" if said else type(error).__name__[:80]


def _files(given: object) -> dict[str, str]:
    if not isinstance(given, Mapping):
        raise RefusedError(f"The files of a proposal are a mapping from name to source, not {_kind(given)}.")
    found: dict[str, str] = {}
    left = MAX_TEXTS
    for name, text in given.items():
        found[words(name, "The name of a file", 999)] = source = words(text, "The source of a file", MAX_TEXTS)
        left -= len(source) + len(name)
        if left < 0:
            raise RefusedError(f"The files of a proposal are longer than {MAX_TEXTS:,} characters; write a shorter program.")
    return found


def _kind(given: object, *, capital: bool = False) -> str:
    name = type(given).__name__[:80]
    return "Nothing" if given is None and capital else "nothing" if given is None else f"{'A' if capital else 'a'} {name}"
