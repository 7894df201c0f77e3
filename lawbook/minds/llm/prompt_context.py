"""The context of a call, from a case: rebuilt every time, so nothing grows; what changes least comes first; parts have sizes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import groupby

from lawbook.core import frame_text
from lawbook.core.hypothesis import ENGINE, RULEBOOK, Decision, Hypothesis, Trigger
from lawbook.core.record import Action, Frame, Status, Trajectory
from lawbook.core.results import Counterexample, VerdictKind
from lawbook.minds.base import Case, Version
from lawbook.minds.llm.model import Part

MAX_STEPS_CHARS, MAX_STEP_CHARS, STEP_WINDOW = 9_000, 600, 10
"""Characters of the last steps together and of one of them; the first step shown is a multiple of this, so that what is shown
of the past begins alike from call to call."""
MAX_TRAJECTORIES, MAX_ACTIONS_CHARS = 12, 500
"""How many earlier trajectories are told, and characters of the actions of each."""
MAX_VERSIONS, MAX_NOTE_CHARS, MAX_NOTES, MAX_RIVAL_CHARS, MAX_REASON_CHARS = 8, 500, 10, 2_500, 4_000
"""Earlier versions that are told; characters of a note; notes; characters of a rival's rulebook; of a verdict."""
MAX_FULL_DIAGNOSES, MAX_DIAGNOSIS_CHARS, MAX_SHORT_CHARS = 2, 1_500, 200
"""Versions whose diagnosis is told in so many characters; of older ones, and of reasons, so many (the prompts say both)."""
CROP_MARGIN, MAX_CROP = 3, 40
"""Cells around the place of a counterexample that are shown, where that is at most so many rows and columns."""

RETAIN_DIAGNOSIS = "Nothing shorter was found."
"""The diagnosis of a member that was asked to simplify and retained what stood."""

_TRIGGER_SENTENCES = {
    Trigger.LEVEL: "A level was completed.",
    Trigger.NO_PLAN: "The program holds on the whole record, and the search finds no way to its goal from here.",
    Trigger.REFUSED: "The last proposal was refused.",
    Trigger.EXPLORE: "No plan leads to a goal from here.",
    Trigger.UNCLAIMED_END: "The level ended where the program had left open whether it would; say so if it can be known now.",
}


def pick_draft(case: Case) -> Hypothesis | None:
    """Pick the text to work on: the last that was tried, as long as nothing else has been accepted since and it is to be mended.

    Else what stands.
    """
    if case.trigger is Trigger.REFUSED or not case.admissible:
        for version in reversed(case.history):
            if version.outcome is VerdictKind.ADMISSIBLE:
                break
            if version.hypothesis.files and version.hypothesis != case.hypothesis:
                return version.hypothesis
    return case.hypothesis


def has_failed_simplification(case: Case) -> bool:
    """Return whether nothing shorter was found when this very text was to be simplified before."""
    return any(_is_failed_simplification(version) and version.hypothesis == case.hypothesis for version in case.history)


def _is_failed_simplification(version: Version) -> bool:
    return version.decision is Decision.RETAIN and version.diagnosis == RETAIN_DIAGNOSIS


def build_hypothesis_parts(case: Case, base: Hypothesis | None) -> list[Part]:
    """Build the world, the rulebook and the program: what stays from call to call. Before there is any, the world alone."""
    parts = [Part("world", _format_world(case), stable=True)]
    if base is None:
        return parts
    if case.needs_rulebook:
        text = format_file(RULEBOOK, base.rulebook) if base.rulebook.strip() else "There is none yet."
        parts.append(Part("rulebook", f"# The rulebook as it stands\n\n{text}", stable=True))
    program = "\n\n".join(format_file(name, source) for name, source in sort_files(base.files))
    parts.append(Part("program", f"# The program as it stands\n\n{program or 'There is none yet.'}", stable=True))
    return parts


def build_record_parts(case: Case) -> list[Part]:
    """Build the record: earlier trajectories in a line each, the present one from its first frame, step by step, to its last."""
    record, parts = case.record, []
    if len(record) > 1:
        first_index = max(0, len(record) - 1 - MAX_TRAJECTORIES)
        lines = [_format_trajectory(k, record.trajectories[k]) for k in range(first_index, len(record) - 1)]
        omitted = [f"(and {first_index} before these)"] if first_index else []
        parts.append(Part("trajectories", "# Earlier trajectories\n\n" + "\n".join([*omitted, *lines])))
    if not len(record):
        return parts
    trajectory = record.current
    title = f"# The present trajectory ({len(record) - 1}): level {trajectory.first.level}, first frame"
    parts.append(Part("first frame", f"{title}\n\n{frame_text.format_board(trajectory.first.frame)}"))
    if len(trajectory):
        parts.append(Part("steps", f"# Its steps\n\n{_format_steps(trajectory)}"))
        parts.append(
            Part("frame", f"# The present frame, after {len(trajectory)} steps\n\n{frame_text.format_board(trajectory.last.frame)}")
        )
    if len(record) > 1 and len(trajectory) < STEP_WINDOW:
        previous = record.trajectories[-2]
        was_predicted = previous.last.status is Status.COMPLETED and case.admissible  # then its line above says enough
        if len(previous) and not was_predicted:
            title = f"# The last steps of the trajectory before ({len(record) - 2})"
            parts.append(Part("steps before", f"{title}\n\n{_format_steps(previous, MAX_STEPS_CHARS // 3)}"))
    return parts


def build_situation_parts(case: Case, base: Hypothesis | None) -> list[Part]:
    """Build the situation: why the mind is asked, what was said of its last proposal, and what may be spent."""
    lines = ["# Why you are asked", "", *_format_trigger(case), _format_standing(case, base)]
    if case.no_plan and case.trigger in (Trigger.NO_PLAN, Trigger.EXPLORE):
        lines.append(f"What the search for its goal said: {frame_text.clip_text(case.no_plan, MAX_NOTE_CHARS)}")
    if case.verdict is not None and case.verdict.reason and not case.verdict.admissible:
        subject = "the last proposal" if _is_verdict_of_proposal(case) else "what was believed"
        lines += [
            "",
            f"What was said of {subject} ({case.verdict.outcome}):",
            frame_text.clip_text(case.verdict.reason, MAX_REASON_CHARS),
        ]
        earlier_reason = _find_refusal_reason(case, base)
        if earlier_reason and earlier_reason not in case.verdict.reason:
            lines += [
                "",
                "What was said of the text shown above when it was tried:",
                frame_text.clip_text(earlier_reason, MAX_REASON_CHARS),
            ]
        if case.verdict.counterexample is not None and (area := _format_counterexample_area(case, case.verdict.counterexample)):
            lines += ["", area]
    if case.refusal and case.trigger is Trigger.EXPLORE:
        lines += ["", f"Your last answer to this could not be used: {frame_text.clip_text(case.refusal, MAX_REASON_CHARS)}"]
    return [
        Part("situation", "\n".join(line for line in lines if line is not None)),
        *_build_history_parts(case),
        Part("budget", _format_budget(case)),
    ]


def format_file(name: str, source: str) -> str:
    """Format a file as answers show one."""
    return f"{name}\n{format_fenced(source, 'markdown' if name.endswith('.md') else 'python')}"


def format_fenced(text: str, language: str) -> str:
    """Format a fenced block. The fence is longer than any in the text."""
    fence = "```"
    while fence in text:
        fence += "`"
    return f"{fence}{language}\n{text.rstrip()}\n{fence}"


def format_numbered(name: str, source: str) -> str:
    """Format a file with the number of each line, to be cited by."""
    lines = source.rstrip().split("\n")
    return f"{name}\n" + "\n".join(f"{k:>4} {line}" for k, line in enumerate(lines, 1))


def sort_files(files: Mapping[str, str]) -> list[tuple[str, str]]:
    """Sort files by name, the engine last: what it imports is read before it."""
    return sorted(files.items(), key=lambda item: (item[0] == ENGINE, item[0]))


def format_actions(actions: Sequence[Action]) -> str:
    """Format actions in order, repeated ones counted: `1x3 2 6@4,5`."""
    counts = ((str(action), len(list(group))) for action, group in groupby(actions))
    return " ".join(action if count == 1 else f"{action}x{count}" for action, count in counts)


def _format_world(case: Case) -> str:
    height, width = case.interface.shape
    actions = ", ".join(
        f"{action} (a click: x and y)" if action in case.interface.clicks else f"{action}" for action in case.interface.actions
    )
    levels = f"It has {case.interface.levels} levels." if case.interface.levels else "How many levels it has is not told."
    lines = ["# The world", "", f"Frames are {height} rows x {width} columns. The actions are {actions}; RESET is 0. {levels}"]
    if case.population > 1:
        member = f"You are member {case.member} of {case.population} who keep hypotheses of their own over one record."
        lines.append(f"{member} Any member's plan may be drawn, and every member's predictions are compared with what comes back.")
    return "\n".join(lines)


def _format_trajectory(k: int, trajectory: Trajectory) -> str:
    ending = trajectory.last.status if trajectory.is_closed else "left by a reset"
    actions = frame_text.clip_text(format_actions(trajectory.actions), MAX_ACTIONS_CHARS) or "no action"
    return f"{k}: level {trajectory.first.level}, {len(trajectory)} steps, {ending}: {actions}"


def _format_steps(trajectory: Trajectory, max_chars: int = MAX_STEPS_CHARS) -> str:
    """The last steps, as many as fit, each as what changed. Those before in one line."""
    newest_first: list[str] = []
    size, k = 0, len(trajectory)
    while k > 0:
        newest_first.append(_format_step(trajectory, k))
        size += len(newest_first[-1])
        if size > max_chars and len(newest_first) > 1:
            break
        k -= 1
    n_omitted = 0 if k == 0 else min(-(-k // STEP_WINDOW) * STEP_WINDOW, len(trajectory) - 1)  # steps left out
    lines = newest_first[: len(trajectory) - n_omitted][::-1]
    omitted = (
        [f"1 to {n_omitted}: {frame_text.clip_text(format_actions(trajectory.actions[:n_omitted]), 2 * MAX_ACTIONS_CHARS)}"]
        if n_omitted
        else []
    )
    return "\n".join([*omitted, *lines])


def _format_step(trajectory: Trajectory, k: int) -> str:
    action, observation = trajectory.steps[k - 1]
    completion_text = "the level is completed" + (
        "; its last frame before the next level is not kept" if len(observation.frames) > 1 else ""
    )
    change = (
        frame_text.format_difference(trajectory.get_frame(k - 1), observation.frame)
        if observation.status is not Status.COMPLETED
        else completion_text
    )
    status = f" [{observation.status}]" if observation.status is not Status.RUNNING else ""
    animation_note = f" ({len(observation.frames)} frames of animation)" if len(observation.frames) > 1 else ""
    available_note = (
        ""
        if observation.available == trajectory.first.available
        else f" (available now: {', '.join(map(str, observation.available))})"
    )
    return f"{k}. action {action}{status}{animation_note}{available_note}: {frame_text.clip_text(change, MAX_STEP_CHARS)}"


def _format_trigger(case: Case) -> list[str]:
    match case.trigger:
        case Trigger.START:
            return []
        case Trigger.MISMATCH:
            return [_format_mismatch(case)]
        case Trigger.SIMPLIFY:
            return _format_simplification_reason(case)
    return [_TRIGGER_SENTENCES[case.trigger]]


def _is_verdict_of_proposal(case: Case) -> bool:
    """Is the verdict the gate's, of the last proposal? Else it is of a prediction, that came after it."""
    last, verdict = case.history[-1] if case.history else None, case.verdict
    return last is not None and verdict is not None and (last.outcome, last.reason) == (verdict.outcome, verdict.reason)


def _format_mismatch(case: Case) -> str:
    """Say what refuted the program."""
    verdict = case.verdict
    if verdict is None or verdict.admissible or _is_verdict_of_proposal(case):
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
        actual = "the level went on" if example.expected is Status.RUNNING else f"what came is {example.expected}"
        return f"A prediction was wrong, and your goal is refuted: {actual}."
    if example.expected is Status.COMPLETED:
        return "A prediction was wrong: the level was completed, and your goal did not say so."
    return "A prediction was wrong."


def _format_simplification_reason(case: Case) -> list[str]:
    """Why something shorter is wanted, as far as the case tells, and how long it is."""
    accepted, size_before = None, None
    for version in case.history[:-1]:
        accepted = version.hypothesis if version.outcome is VerdictKind.ADMISSIBLE else accepted
        if accepted is not None and (
            size_before is None or version.decision is Decision.SIMPLIFY or _is_failed_simplification(version)
        ):
            size_before = accepted.description_bytes
    size = case.hypothesis.description_bytes if case.hypothesis else 0
    record = case.record
    has_completed_level = len(record) > 1 and not len(record.current) and record.trajectories[-2].last.status is Status.COMPLETED
    has_grown = size_before is not None and size > size_before
    reasons = ["a level was completed"] * has_completed_level + [
        f"the description has grown from {size_before or 0:,} bytes"
    ] * has_grown
    reason = ", and ".join(reasons) or "a level was completed since it was last looked over"
    return [
        f"{reason[0].upper()}{reason[1:]}: a shorter account of the same is wanted. "
        f"It has {size:,} bytes now, comments not counted."
    ]


def _format_standing(case: Case, base: Hypothesis | None) -> str:
    if base is None:
        return "There is no program yet." if case.trigger is Trigger.EXPLORE else "There is no program yet; yours is the first."
    if base != case.hypothesis:
        hypothesis_status = (
            "A hypothesis accepted earlier still steers." if case.admissible else "Nothing that holds stands at present."
        )
        return f"The text shown above is the last that was tried; it was refused. {hypothesis_status}"
    draft_status = "holds on the whole record and may steer." if case.admissible else "was accepted once and is now refuted."
    return f"What is shown above {draft_status}"


def _find_refusal_reason(case: Case, base: Hypothesis | None) -> str:
    return next((version.reason for version in reversed(case.history) if version.hypothesis == base), "")


def _format_counterexample_area(case: Case, example: Counterexample) -> str:
    """The frame around a counterexample, before and after."""
    if not 0 <= example.trajectory < len(case.record) or not example.regions:
        return ""
    trajectory = case.record.trajectories[example.trajectory]
    if example.step > len(trajectory):
        return ""
    height, width = case.interface.shape
    rows = max(min(region.top for region in example.regions) - CROP_MARGIN, 0), max(r.bottom for r in example.regions) + CROP_MARGIN
    columns = (
        max(min(region.left for region in example.regions) - CROP_MARGIN, 0),
        max(r.right for r in example.regions) + CROP_MARGIN,
    )
    if rows[1] - rows[0] > MAX_CROP or columns[1] - columns[0] > MAX_CROP:
        rows, columns = (0, height - 1), (0, width - 1)

    def crop(frame: Frame) -> str:
        return frame_text.format_board(frame, rows, columns)

    if example.step == 0:
        return f"What was really seen there:\n{crop(trajectory.first.frame)}"
    if example.trajectory == len(case.record) - 1 and example.step == len(trajectory):
        return ""  # it is the last of the steps told above, and the present frame
    before, after = trajectory.get_frame(example.step - 1), trajectory.get_frame(example.step)
    return f"What was really seen there, before that step:\n{crop(before)}\nand after it:\n{crop(after)}"


def _build_history_parts(case: Case) -> list[Part]:
    parts = []
    versions = [(k, version) for k, version in enumerate(case.history, 1) if not _is_failed_simplification(version)][-MAX_VERSIONS:]
    if versions:
        full_diagnoses = [k for k, version in versions if version.diagnosis][-MAX_FULL_DIAGNOSES:]
        lines = []
        for k, version in versions:
            reason = (
                ""
                if version.outcome is VerdictKind.ADMISSIBLE
                else f": {_shorten_line(version.reason, MAX_SHORT_CHARS).rstrip('.')}"
            )
            diagnosis = (
                f" Diagnosis: {_shorten_line(version.diagnosis, MAX_DIAGNOSIS_CHARS if k in full_diagnoses else MAX_SHORT_CHARS)}"
                if version.diagnosis
                else ""
            )
            lines.append(f"{k}. {version.decision}, after {version.n_actions} actions, {version.outcome}{reason}.{diagnosis}")
        parts.append(Part("versions", "# Earlier versions\n\n" + "\n".join(lines)))
    if case.notes:
        parts.append(Part("notes", "# Notes\n\n" + "\n".join(f"- {_shorten_line(note)}" for note in case.notes[-MAX_NOTES:])))
    if case.population > 1 and case.peer_actions:
        lines = [
            f"{peer_action.n_actions}. {format_actions(peer_action.actions)} "
            f"({peer_action.kind} of {_format_driver(case, peer_action.driver)})"
            for peer_action in case.peer_actions[-20:]
        ]
        parts.append(Part("news", "# Sent since your last proposal\n\n" + "\n".join(lines)))
    if case.rivals:
        rival_texts = [
            frame_text.clip_text(rival.rulebook if case.needs_rulebook else _join_program(rival), MAX_RIVAL_CHARS)
            for rival in case.rivals[:3]
        ]
        title = "# What other members believe (keep yours different where the record allows it)"
        parts.append(Part("rivals", f"{title}\n\n" + "\n\n---\n".join(rival_texts)))
    return parts


def _format_driver(case: Case, driver: int | None) -> str:
    return "nobody" if driver is None else "yours" if driver == case.member else f"member {driver}"


def _join_program(hypothesis: Hypothesis) -> str:
    return "\n".join(source for _, source in sort_files(hypothesis.files))


def _shorten_line(text: str, max_chars: int = MAX_NOTE_CHARS) -> str:
    line = " ".join(text.split())
    return line if len(line) <= max_chars else f"{line[: max_chars - 2].rstrip()} …"


def _format_budget(case: Case) -> str:
    is_exploring = case.trigger is Trigger.EXPLORE and not case.admissible
    probe_note = f" {case.probes_left} of them may be sent without a prediction." if is_exploring else ""
    observation = case.record.last
    available_note = f" Available now: {', '.join(map(str, observation.available))}." if observation is not None else ""
    summary = f"{case.record.n_actions} actions have been sent, {case.budget_left} are left.{probe_note}{available_note}"
    return f"# What may be spent\n\n{summary}"
