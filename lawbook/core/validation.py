"""Validation of what minds and callers hand in: made exactly what it claims to be, or refused. Types are looked at nowhere else.

Everything here returns plain, private values (no subclasses, nothing that can change afterwards) or raises RefusedError with a
sentence. What the values mean is the gate's business.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from lawbook.core.hypothesis import MAX_BYTES, Decision, Proposal
from lawbook.core.record import MAX_NUMBER, Action
from lawbook.core.results import Judgement, Limits, Probe, Subgoal
from lawbook.errors import RefusedError

MAX_TEXT_CHARS = 100_000
"""Characters of a question, a reason, a diagnosis, a note, a subgoal."""
MAX_PROPOSAL_CHARS = 2 * MAX_BYTES
"""Characters of a rulebook, or of all files together. What is merely too long to be tried is for the gate to refuse."""
MAX_SEARCH_SECONDS = 3600.0
"""Of one search."""
_MAX_ACTIONS = 1_000_000
_MAX_RECEIPT_ITEMS = 32


def validate_text(value: object, label: str, max_chars: int = MAX_TEXT_CHARS) -> str:
    """Return a value as text. label: `A note`, for the sentence. Raises RefusedError for what is none or is too long."""
    if not isinstance(value, str):
        raise RefusedError(f"{label} is text, not {_describe_type(value)}.")
    text = str.__str__(value)
    if len(text) > max_chars:
        raise RefusedError(f"{label} of {len(text):,} characters is too long; keep it under {max_chars:,}.")
    return text


def validate_action(value: object) -> Action:
    """Return a value as an Action of whole numbers that fit 31 bits, with both coordinates or none. Raises RefusedError."""
    if type(value) is not Action:
        raise RefusedError(
            f"{_describe_type(value, capital=True)} is no action; give an Action: its id, and x and y where it is a click."
        )
    if not all(type(part) is int or (part is None and position > 0) for position, part in enumerate(value)):
        raise RefusedError(
            f"An action is whole numbers: an id, and x and y for a click; not {', '.join(map(_describe_type, value))}."
        )
    if any(part is not None and abs(part) >= MAX_NUMBER for part in value):
        raise RefusedError(f"An action with numbers beyond {MAX_NUMBER:,} is none; ids and coordinates are small whole numbers.")
    if (value.x is None) != (value.y is None):
        raise RefusedError("A click has x (column) and y (row); give both, or neither.")
    return value


def validate_actions(value: object) -> tuple[Action, ...]:
    """Return a value as a sequence of actions, read once. Raises RefusedError."""
    if isinstance(value, str | Action) or not isinstance(value, Iterable):
        raise RefusedError(f"A plan is a sequence of actions, not {_describe_type(value)}.")
    validated: list[Action] = []
    for item in value:
        if len(validated) == _MAX_ACTIONS:
            raise RefusedError(f"A plan of more than {_MAX_ACTIONS:,} actions is none; find a shorter way.")
        validated.append(validate_action(item))
    return tuple(validated)


def validate_proposal(value: object) -> Proposal:
    """Return a value as a Proposal of texts, of a size that can be looked at. Raises RefusedError."""
    if not isinstance(value, Proposal):
        raise RefusedError(
            f"{_describe_type(value, capital=True)} is no proposal; give a decision, a rulebook, files and a diagnosis."
        )
    if not isinstance(value.decision, Decision):
        raise RefusedError(f"The decision of a proposal is one of {', '.join(Decision)}, not {_describe_type(value.decision)}.")
    rulebook = None if value.rulebook is None else validate_text(value.rulebook, "A rulebook", MAX_PROPOSAL_CHARS)
    files = None if value.files is None else _validate_file_texts(value.files)
    unusable = validate_text(value.unusable, "Why a proposal is unusable")
    return Proposal(value.decision, rulebook, files, validate_text(value.diagnosis, "A diagnosis"), unusable)


def validate_exploration(value: object) -> Subgoal | Probe:
    """Return a value as a Subgoal or a Probe. Raises RefusedError."""
    if isinstance(value, Probe):
        return Probe(validate_action(value.action), validate_text(value.question, "The question of a probe"))
    if not isinstance(value, Subgoal):
        raise RefusedError(f"{_describe_type(value, capital=True)} is no subgoal; give the source of `def subgoal(state) -> bool`.")
    source, question = (
        validate_text(value.source, "The source of a subgoal"),
        validate_text(value.question, "The question of a subgoal"),
    )
    return Subgoal(source, question, validate_text(value.unusable, "Why a subgoal is unusable"))


def validate_subgoal(value: object) -> Subgoal:
    """Return a value as a Subgoal to plan for. Raises RefusedError, for an unusable one with the reason it brings."""
    validated = validate_exploration(value)
    if not isinstance(validated, Subgoal):
        raise RefusedError("A probe is no subgoal; give the source of `def subgoal(state) -> bool`.")
    if validated.unusable:
        raise RefusedError(validated.unusable)
    return validated


def validate_judgement(value: object) -> Judgement:
    """Return a value as a Judgement that says yes or no and nothing in between. Raises RefusedError."""
    if not isinstance(value, Judgement) or not isinstance(value.faithful, bool):
        raise RefusedError("A judgement says faithful, True or False, and why.")
    if not isinstance(value.rules, Mapping) or len(value.rules) > MAX_TEXT_CHARS:
        raise RefusedError("The rules of a judgement are a mapping from a rule to where it is implemented, or what is missing.")
    rules = {
        validate_text(rule, "A rule's name", 99): validate_text(explanation, "What is said of a rule")
        for rule, explanation in value.rules.items()
    }
    return Judgement(value.faithful, rules, validate_text(value.reason, "The reason of a judgement"))


def validate_limits(value: object) -> Limits:
    """Return a value as Limits that end a search. Raises RefusedError."""
    if not isinstance(value, Limits):
        raise RefusedError(f"{_describe_type(value, capital=True)} is no limits of a search; give nodes, depth and seconds.")
    if type(value.nodes) is not int or value.nodes < 1:
        raise RefusedError("The nodes of a search are a whole number from 1.")
    if value.depth is not None and (type(value.depth) is not int or value.depth < 0):
        raise RefusedError("The depth of a search is a whole number from 0.")
    if type(value.seconds) not in (int, float) or not 0 < value.seconds <= MAX_SEARCH_SECONDS:
        raise RefusedError(f"The seconds of a search are a number above 0, up to {MAX_SEARCH_SECONDS:g}.")
    return value


def clean_receipt(raw_receipt: object) -> dict[str, float | int | str]:
    """Keep as much of a receipt as can be written down; it decides nothing, so what cannot is left out."""
    cleaned: dict[str, float | int | str] = {}
    if isinstance(raw_receipt, Mapping):
        for name, value in raw_receipt.items():
            is_plain_number = type(value) in (bool, int, float) and abs(value) < 1e18  # NaN is not
            if (
                type(name) is str
                and len(name) < 99
                and len(cleaned) < _MAX_RECEIPT_ITEMS
                and (is_plain_number or type(value) is str)
            ):
                cleaned[name] = value[:999] if type(value) is str else value
    return cleaned


def describe_exception(error: BaseException) -> str:
    """Describe an error as `KeyError: 'x'`, on one line and not too long, whatever its __str__ does."""
    try:
        message = " ".join(str(error).split())[:300]
    except Exception:
        message = "(it cannot say why)"
    return f"{type(error).__name__[:80]}: {message}" if message else type(error).__name__[:80]


def _validate_file_texts(value: object) -> dict[str, str]:
    if not isinstance(value, Mapping):
        raise RefusedError(f"The files of a proposal are a mapping from name to source, not {_describe_type(value)}.")
    files: dict[str, str] = {}
    chars_left = MAX_PROPOSAL_CHARS
    for name, text in value.items():
        files[validate_text(name, "The name of a file", 999)] = source = validate_text(
            text, "The source of a file", MAX_PROPOSAL_CHARS
        )
        chars_left -= len(source) + len(name)
        if chars_left < 0:
            raise RefusedError(
                f"The files of a proposal are longer than {MAX_PROPOSAL_CHARS:,} characters; write a shorter program."
            )
    return files


def _describe_type(value: object, *, capital: bool = False) -> str:
    name = type(value).__name__[:80]
    return "Nothing" if value is None and capital else "nothing" if value is None else f"{'A' if capital else 'a'} {name}"
