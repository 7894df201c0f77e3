"""What a call is shown of a case: rebuilt every time, so nothing grows; what changes least comes first; each part has its size."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import groupby

from lawbook.core import frame_text
from lawbook.core.hypothesis import ENGINE, RULEBOOK, Decision, Hypothesis
from lawbook.core.record import Action, Frame, Status, Trajectory
from lawbook.core.results import Counterexample, Outcome
from lawbook.minds.base import Case, Version, Why
from lawbook.minds.llm.model import Part

STEPS, STEP, WINDOW = 9_000, 600, 10
"""Characters of the last steps together and of one of them; the first step shown is a multiple of this, so that what is shown
of the past begins alike from call to call."""
TRAJECTORIES, ACTIONS = 12, 500
"""How many earlier trajectories are told, and characters of the actions of each."""
VERSIONS, SAID, NOTES, RIVAL, REASON = 8, 500, 10, 2_500, 4_000
"""Earlier versions that are told; characters of a note; notes; characters of a rival's rulebook; of a verdict."""
WHOLE, DIAGNOSIS, SHORT = 2, 1_500, 200
"""Versions whose diagnosis is told in so many characters; of older ones, and of reasons, so many (the prompts say both)."""
MARGIN, CROP = 3, 40
"""Cells around the place of a counterexample that are shown, where that is at most so many rows and columns."""

KEPT = "Nothing shorter was found."
"""The diagnosis of a member that was asked to simplify and retained what stood."""

_WHY = {
    Why.LEVEL: "A level was completed.",
    Why.NO_PLAN: "The program holds on the whole record, and the search finds no way to its goal from here.",
    Why.REFUSED: "The last proposal was refused.",
    Why.EXPLORE: "No plan leads to a goal from here.",
}


def draft(case: Case) -> Hypothesis | None:
    """The text to work on: the last that was tried, as long as nothing else has been accepted since and it is due to be mended;
    else what stands."""
    if case.why is Why.REFUSED or not case.admissible:
        for version in reversed(case.history):
            if version.outcome is Outcome.ADMISSIBLE:
                break
            if version.hypothesis.files and version.hypothesis != case.hypothesis:
                return version.hypothesis
    return case.hypothesis


def kept_before(case: Case) -> bool:
    """Was nothing shorter found when this very text was to be simplified before?"""
    return any(_kept(version) and version.hypothesis == case.hypothesis for version in case.history)


def _kept(version: Version) -> bool:
    return version.decision is Decision.RETAIN and version.diagnosis == KEPT


def believed(case: Case, base: Hypothesis | None) -> list[Part]:
    """The world, the rulebook and the program: what stays from call to call. Before there is any, the world alone."""
    parts = [Part("world", _world(case), stable=True)]
    if base is None:
        return parts
    if case.needs_rulebook:
        text = file(RULEBOOK, base.rulebook) if base.rulebook.strip() else "There is none yet."
        parts.append(Part("rulebook", f"# The rulebook as it stands\n\n{text}", stable=True))
    program = "\n\n".join(file(name, source) for name, source in in_order(base.files))
    parts.append(Part("program", f"# The program as it stands\n\n{program or 'There is none yet.'}", stable=True))
    return parts


def evidence(case: Case) -> list[Part]:
    """The record: earlier trajectories in a line each, the present one from its first frame, step by step, to its last."""
    record, parts = case.record, []
    if len(record) > 1:
        first = max(0, len(record) - 1 - TRAJECTORIES)
        lines = [_told(k, record.trajectories[k]) for k in range(first, len(record) - 1)]
        left = [f"(and {first} before these)"] if first else []
        parts.append(Part("trajectories", "# Earlier trajectories\n\n" + "\n".join([*left, *lines])))
    if not len(record):
        return parts
    here = record.here
    title = f"# The present trajectory ({len(record) - 1}): level {here.first.level}, first frame"
    parts.append(Part("first frame", f"{title}\n\n{frame_text.board(here.first.frame)}"))
    if len(here):
        parts.append(Part("steps", f"# Its steps\n\n{_steps(here)}"))
        parts.append(Part("frame", f"# The present frame, after {len(here)} steps\n\n{frame_text.board(here.last.frame)}"))
    if len(record) > 1 and len(here) < WINDOW:
        before = record.trajectories[-2]
        foreseen = before.last.status is Status.COMPLETED and case.admissible  # then its line above says enough
        if len(before) and not foreseen:
            title = f"# The last steps of the trajectory before ({len(record) - 2})"
            parts.append(Part("steps before", f"{title}\n\n{_steps(before, STEPS // 3)}"))
    return parts


def situation(case: Case, base: Hypothesis | None) -> list[Part]:
    """Why the mind is asked, what was said of its last proposal, and what may be spent."""
    lines = ["# Why you are asked", "", *_why(case), _standing(case, base)]
    if case.no_plan and case.why in (Why.NO_PLAN, Why.EXPLORE):
        lines.append(f"What the search for its goal said: {frame_text.clip(case.no_plan, SAID)}")
    if case.verdict is not None and case.verdict.reason and not case.verdict.admissible:
        what = "the last proposal" if _of_proposal(case) else "what was believed"
        lines += ["", f"What was said of {what} ({case.verdict.outcome}):", frame_text.clip(case.verdict.reason, REASON)]
        earlier = _said_of(case, base)
        if earlier and earlier not in case.verdict.reason:
            lines += ["", "What was said of the text shown above when it was tried:", frame_text.clip(earlier, REASON)]
        if case.verdict.counterexample is not None and (place := _place(case, case.verdict.counterexample)):
            lines += ["", place]
    if case.refusal and case.why is Why.EXPLORE:
        lines += ["", f"Your last answer to this could not be used: {frame_text.clip(case.refusal, REASON)}"]
    return [Part("situation", "\n".join(line for line in lines if line is not None)), *_past(case), Part("budget", _budget(case))]


def file(name: str, source: str) -> str:
    """A file as answers show one."""
    return f"{name}\n{fenced(source, 'markdown' if name.endswith('.md') else 'python')}"


def fenced(text: str, language: str) -> str:
    """A fenced block. The fence is longer than any in the text."""
    mark = "```"
    while mark in text:
        mark += "`"
    return f"{mark}{language}\n{text.rstrip()}\n{mark}"


def numbered(name: str, source: str) -> str:
    """A file with the number of each line, to be cited by."""
    lines = source.rstrip().split("\n")
    return f"{name}\n" + "\n".join(f"{k:>4} {line}" for k, line in enumerate(lines, 1))


def in_order(files: Mapping[str, str]) -> list[tuple[str, str]]:
    """The engine last: what it imports is read before it."""
    return sorted(files.items(), key=lambda one: (one[0] == ENGINE, one[0]))


def runs(actions: Sequence[Action]) -> str:
    """`1x3 2 6@4,5`: actions in order, repeated ones counted."""
    counted = ((str(action), len(list(same))) for action, same in groupby(actions))
    return " ".join(action if times == 1 else f"{action}x{times}" for action, times in counted)


def _world(case: Case) -> str:
    height, width = case.interface.shape
    actions = ", ".join(f"{one} (a click: x and y)" if one in case.interface.clicks else f"{one}" for one in case.interface.actions)
    levels = f"It has {case.interface.levels} levels." if case.interface.levels else "How many levels it has is not told."
    lines = ["# The world", "", f"Frames are {height} rows x {width} columns. The actions are {actions}; RESET is 0. {levels}"]
    if case.population > 1:
        member = f"You are member {case.member} of {case.population} who keep hypotheses of their own over one record."
        lines.append(f"{member} Any member's plan may be drawn, and every member's predictions are compared with what comes back.")
    return "\n".join(lines)


def _told(k: int, there: Trajectory) -> str:
    ended = there.last.status if there.closed else "left by a reset"
    actions = frame_text.clip(runs(there.actions), ACTIONS) or "no action"
    return f"{k}: level {there.first.level}, {len(there)} steps, {ended}: {actions}"


def _steps(there: Trajectory, most: int = STEPS) -> str:
    """The last steps, as many as fit, each as what changed. Those before in one line."""
    told: list[str] = []
    size, k = 0, len(there)
    while k > 0:
        told.append(_step(there, k))
        size += len(told[-1])
        if size > most and len(told) > 1:
            break
        k -= 1
    first = 0 if k == 0 else min(-(-k // WINDOW) * WINDOW, len(there) - 1)  # steps left out
    lines = told[: len(there) - first][::-1]
    before = [f"1 to {first}: {frame_text.clip(runs(there.actions[:first]), 2 * ACTIONS)}"] if first else []
    return "\n".join([*before, *lines])


def _step(there: Trajectory, k: int) -> str:
    action, seen = there.steps[k - 1]
    completed = "the level is completed" + ("; its last frame before the next level is not kept" if len(seen.frames) > 1 else "")
    change = frame_text.difference(there.frame(k - 1), seen.frame) if seen.status is not Status.COMPLETED else completed
    status = f" [{seen.status}]" if seen.status is not Status.RUNNING else ""
    moving = f" ({len(seen.frames)} frames of animation)" if len(seen.frames) > 1 else ""
    available = "" if seen.available == there.first.available else f" (available now: {', '.join(map(str, seen.available))})"
    return f"{k}. action {action}{status}{moving}{available}: {frame_text.clip(change, STEP)}"


def _why(case: Case) -> list[str]:
    match case.why:
        case Why.START:
            return []
        case Why.MISMATCH:
            return [_mismatch(case)]
        case Why.SIMPLIFY:
            return _shorten(case)
    return [_WHY[case.why]]


def _of_proposal(case: Case) -> bool:
    """Is the verdict the gate's, of the last proposal? Else it is of a prediction, that came after it."""
    last, verdict = case.history[-1] if case.history else None, case.verdict
    return last is not None and verdict is not None and (last.outcome, last.reason) == (verdict.outcome, verdict.reason)


def _mismatch(case: Case) -> str:
    """What refuted the program."""
    verdict = case.verdict
    if verdict is None or verdict.admissible or _of_proposal(case):
        return "New evidence came while nothing that holds stands."
    if (fault := verdict.fault) is not None:
        if fault.step == 0 or (fault.step is None and "initial_state" in fault.reason):
            return "The program could not start from a first frame: mend all that is new in that frame, not only what raised."
        return "The program failed where it was to predict."
    example = verdict.counterexample
    if example is None:
        return "A prediction was wrong."
    if example.step == 0:
        return "The program draws a first frame wrongly: mend all that is new in that frame, not only the cells that are named."
    if example.predicted is Status.COMPLETED:
        went = "the level went on" if example.expected is Status.RUNNING else f"what came is {example.expected}"
        return f"A prediction was wrong, and your goal is refuted: {went}."
    if example.expected is Status.COMPLETED:
        return "A prediction was wrong: the level was completed, and your goal did not say so."
    return "A prediction was wrong."


def _shorten(case: Case) -> list[str]:
    """Why something shorter is wanted, as far as the case tells, and how long it is."""
    stands, before = None, None
    for version in case.history[:-1]:
        stands = version.hypothesis if version.outcome is Outcome.ADMISSIBLE else stands
        if stands is not None and (before is None or version.decision is Decision.SIMPLIFY or _kept(version)):
            before = stands.description_bytes
    size = case.hypothesis.description_bytes if case.hypothesis else 0
    record = case.record
    completed = len(record) > 1 and not len(record.here) and record.trajectories[-2].last.status is Status.COMPLETED
    grown = before is not None and size > before
    whys = ["a level was completed"] * completed + [f"the description has grown from {before or 0:,} bytes"] * grown
    why = ", and ".join(whys) or "a level was completed since it was last looked over"
    return [f"{why[0].upper()}{why[1:]}: a shorter account of the same is wanted. It has {size:,} bytes now, comments not counted."]


def _standing(case: Case, base: Hypothesis | None) -> str:
    if base is None:
        return "There is no program yet." if case.why is Why.EXPLORE else "There is no program yet; yours is the first."
    if base != case.hypothesis:
        stands = "A hypothesis accepted earlier still steers." if case.admissible else "Nothing that holds stands at present."
        return f"The text shown above is the last that was tried; it was refused. {stands}"
    holds = "holds on the whole record and may steer." if case.admissible else "was accepted once and is now refuted."
    return f"What is shown above {holds}"


def _said_of(case: Case, base: Hypothesis | None) -> str:
    return next((version.reason for version in reversed(case.history) if version.hypothesis == base), "")


def _place(case: Case, example: Counterexample) -> str:
    """The frame around a counterexample, before and after."""
    if not 0 <= example.trajectory < len(case.record) or not example.regions:
        return ""
    there = case.record.trajectories[example.trajectory]
    if example.step > len(there):
        return ""
    height, width = case.interface.shape
    rows = max(min(region.top for region in example.regions) - MARGIN, 0), max(r.bottom for r in example.regions) + MARGIN
    columns = max(min(region.left for region in example.regions) - MARGIN, 0), max(r.right for r in example.regions) + MARGIN
    if rows[1] - rows[0] > CROP or columns[1] - columns[0] > CROP:
        rows, columns = (0, height - 1), (0, width - 1)

    def crop(frame: Frame) -> str:
        return frame_text.board(frame, rows, columns)

    if example.step == 0:
        return f"What was really seen there:\n{crop(there.first.frame)}"
    if example.trajectory == len(case.record) - 1 and example.step == len(there):
        return ""  # it is the last of the steps told above, and the present frame
    before, after = there.frame(example.step - 1), there.frame(example.step)
    return f"What was really seen there, before that step:\n{crop(before)}\nand after it:\n{crop(after)}"


def _past(case: Case) -> list[Part]:
    parts = []
    told = [(k, version) for k, version in enumerate(case.history, 1) if not _kept(version)][-VERSIONS:]
    if told:
        whole = [k for k, version in told if version.diagnosis][-WHOLE:]
        lines = []
        for k, version in told:
            reason = "" if version.outcome is Outcome.ADMISSIBLE else f": {_line(version.reason, SHORT).rstrip('.')}"
            said = f" Diagnosis: {_line(version.diagnosis, DIAGNOSIS if k in whole else SHORT)}" if version.diagnosis else ""
            lines.append(f"{k}. {version.decision}, after {version.at} actions, {version.outcome}{reason}.{said}")
        parts.append(Part("versions", "# Earlier versions\n\n" + "\n".join(lines)))
    if case.notes:
        parts.append(Part("notes", "# Notes\n\n" + "\n".join(f"- {_line(note)}" for note in case.notes[-NOTES:])))
    if case.population > 1 and case.news:
        lines = [f"{one.at}. {runs(one.actions)} ({one.kind} of {_who(case, one.driver)})" for one in case.news[-20:]]
        parts.append(Part("news", "# Sent since your last proposal\n\n" + "\n".join(lines)))
    if case.rivals:
        books = [frame_text.clip(rival.rulebook if case.needs_rulebook else _whole(rival), RIVAL) for rival in case.rivals[:3]]
        title = "# What other members believe (keep yours different where the record allows it)"
        parts.append(Part("rivals", f"{title}\n\n" + "\n\n---\n".join(books)))
    return parts


def _who(case: Case, driver: int | None) -> str:
    return "nobody" if driver is None else "yours" if driver == case.member else f"member {driver}"


def _whole(hypothesis: Hypothesis) -> str:
    return "\n".join(source for _, source in in_order(hypothesis.files))


def _line(text: str, most: int = SAID) -> str:
    line = " ".join(text.split())
    return line if len(line) <= most else f"{line[: most - 2].rstrip()} …"


def _budget(case: Case) -> str:
    exploring = case.why is Why.EXPLORE and not case.admissible
    free = f" {case.probes_left} of them may be sent without a prediction." if exploring else ""
    last = case.record.last
    available = f" Available now: {', '.join(map(str, last.available))}." if last is not None else ""
    sent = f"{case.record.actions} actions have been sent, {case.budget_left} are left.{free}{available}"
    return f"# What may be spent\n\n{sent}"
