"""What people see: numbers against a straight count of the ledger, boards, ways, rules, report, picture; texts meant to do harm."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from base64 import b64encode
from collections import Counter
from collections.abc import Iterator
from hashlib import sha256
from html.parser import HTMLParser
from pathlib import Path

import pytest
from evil_minds import DOWN, NO_HOLES, TRUE, evil
from hypothesis import given
from hypothesis import strategies as st
from lakes import LAKE
from minds import Scripted, replaced
from rich.console import Console
from screen import plain, text_of

from lawbook.core.hypothesis import ENGINE, RULEBOOK, Decision, Proposal
from lawbook.core.record import Action
from lawbook.ledger.events import EventKind
from lawbook.ledger.ledger import Ledger
from lawbook.runs.folder import RunConfig
from lawbook.runs.lifecycle import resume_run, start_run
from lawbook.runs.loops.memento3 import play
from lawbook.runs.recheck import recheck_run
from lawbook.runs.state import fold_events
from lawbook.sandbox.host import Host
from lawbook.view import html_report, summary_svg, text_output
from lawbook.view.display_events import PredictionFailed, ProposalJudged
from lawbook.view.event_stream import read_display_events
from lawbook.view.formatting import clean, extract_first_sentence, format_one_line, format_seconds, format_timestamp
from lawbook.view.live_display import LiveDisplay, PlainDisplay, describe_activity
from lawbook.view.live_layout import Scene
from lawbook.view.metrics import compute_metrics, summarize_run
from lawbook.view.rulebook_diff import compare_rulebooks, diff_hypotheses, parse_entries


@pytest.fixture(scope="module")
def ledgers(host: Host, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Finished runs by name: a scripted one that falls into a hole once, one full of harmful texts, a population, a random one."""
    runs = {
        "scripted": (RunConfig(LAKE), Scripted([NO_HOLES, TRUE])),
        "evil": (RunConfig(LAKE), evil()),
        "population": (RunConfig(LAKE, population=2), Scripted([NO_HOLES, TRUE])),
        "random": (RunConfig("demo:maze?seed=1", mind="random", protocol="vanilla", budget=30), None),
    }
    paths = {}
    for name, (config, mind) in runs.items():
        with start_run(config, tmp_path_factory.mktemp("runs"), host=host, mind=mind) as (folder, session):
            play(session)
        paths[name] = folder.ledger
    return paths


@pytest.fixture(params=["scripted", "evil", "population", "random"])
def ledger(request: pytest.FixtureRequest, ledgers: dict[str, Path]) -> Iterator[Ledger]:
    with Ledger.open(ledgers[request.param], readonly=True) as ledger:
        yield ledger


@pytest.fixture
def scripted(ledgers: dict[str, Path]) -> Iterator[Ledger]:
    with Ledger.open(ledgers["scripted"], readonly=True) as ledger:
        yield ledger


# -- numbers ---------------------------------------------------------------------------------------------------------------------


def test_numbers_are_what_a_straight_count_of_the_events_gives(ledger: Ledger) -> None:
    n, events = compute_metrics(ledger), list(ledger)
    kinds = Counter(event.kind for event in events)
    intends = [event.body for event in events if event.kind is EventKind.INTEND]
    verdicts = [event.body for event in events if event.kind is EventKind.VERDICT]
    assert n.actions == kinds[EventKind.INTEND] == sum(level.actions for level in n.per_level) == sum(n.actions_by_kind.values())
    assert n.actions_by_kind == {sort: sum(body["sort"] == sort for body in intends) for sort in ("plan", "probe", "reset")}
    assert n.mismatches == sum(body["about"] == "prediction" for body in verdicts)
    assert sum(n.proposals.values()) == kinds[EventKind.PROPOSE]
    assert n.versions == len(fold_events(ledger).accepted_versions)
    assert n.mind_calls == kinds[EventKind.CALL]
    assert n.compared_predictions == sum(len(body["predictions"]) for body in intends)
    assert n.head == events[-1].hash and n.events == len(events)
    assert n.outcome == next(event.body["outcome"] for event in events if event.kind is EventKind.CLOSE)


def test_every_prediction_that_did_not_come_true_is_a_mismatch_of_the_gate(ledger: Ledger) -> None:
    n = compute_metrics(ledger)
    steps = [told for told, _ in read_display_events(ledger) if isinstance(told, PredictionFailed) and told.action is not None]
    assert n.compared_predictions - n.exact_predictions == len(steps)


def test_brief_agrees_with_the_numbers(ledger: Ledger) -> None:
    one, n = summarize_run(ledger), compute_metrics(ledger)
    assert (one.outcome, one.levels_completed, one.levels, one.actions) == (n.outcome, n.levels_completed, n.levels, n.actions)


def test_costs_are_the_sums_of_the_receipts(scripted: Ledger) -> None:
    assert compute_metrics(scripted).costs == {"tokens": 7.0 * compute_metrics(scripted).mind_calls}


def test_a_run_that_did_not_end_has_numbers_too(host: Host, tmp_path: Path) -> None:
    with start_run(RunConfig(LAKE), tmp_path, host=host, mind=Scripted([TRUE])) as (folder, session):
        session.propose(Proposal(Decision.REVISE_RULEBOOK, TRUE.rulebook, TRUE.files))
        session.probe(DOWN, "what does it do?")
    with Ledger.open(folder.ledger, readonly=True) as ledger:
        n = compute_metrics(ledger)
        assert n.outcome is None and n.actions == 1 and n.levels_completed == 0
        assert "not ended" in "".join(str(line) for line in text_output.format_metrics(n, folder.path))
        assert "not ended" in html_report.render(ledger)


# -- what is told ----------------------------------------------------------------------------------------------------------------


def test_history_tells_every_proposal_with_its_diff_and_verdict(scripted: Ledger) -> None:
    text = "\n".join(str(line) for line in text_output.format_history(scripted, full=True))
    told = [one for one, _ in read_display_events(scripted) if isinstance(one, ProposalJudged)]
    assert [one.number for one in told] == list(range(1, len(told) + 1)) and len(told) >= 2
    assert text.count("proposal ") >= len(told)
    assert "asked because of start" in text and "asked because of mismatch" in text
    assert "-    return False  # R3" in text and "+    return here(state) == 1  # R3" in text


def test_full_history_holds_the_whole_texts(scripted: Ledger) -> None:
    text = "\n".join(str(line) for line in text_output.format_history(scripted, full=True))
    for line in TRUE.files[ENGINE].splitlines():
        assert line in text


def test_a_history_of_one_member_is_of_that_member(ledgers: dict[str, Path]) -> None:
    with Ledger.open(ledgers["population"], readonly=True) as ledger:
        text = "\n".join(str(line) for line in text_output.format_history(ledger, member=1))
    assert "member 1" in text and "member 0" not in text


def test_nothing_told_is_obeyed_by_a_terminal(ledger: Ledger) -> None:
    texts = [
        *(str(line) for line in text_output.format_history(ledger, full=True)),
        *(str(line) for line in text_output.format_metrics(compute_metrics(ledger), Path("run"))),
        *(told.line for told, _ in read_display_events(ledger)),
    ]
    assert texts and not any(
        re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]", text) for text in texts
    )


def test_a_run_won_by_a_step_that_refuted_its_program_says_so(host: Host, tmp_path: Path) -> None:
    wrong = replaced(TRUE, "return here(state) == 2  # R4", "return False  # R4")
    with start_run(RunConfig(LAKE), tmp_path, host=host, mind=Scripted([wrong])) as (folder, session):
        session.propose(Proposal(Decision.REVISE_RULEBOOK, wrong.rulebook, wrong.files))
        for number in (2, 2, 3, 2, 3, 3):
            session.probe(Action(number), "on to the present?")
        assert session.outcome == "won"
    with Ledger.open(folder.ledger, readonly=True) as ledger:
        told = "\n".join(str(line) for line in text_output.format_recheck(recheck_run(ledger)))
    assert "member 0: the last step refuted version 1, so there is nothing to verify" in told


# -- words and rules -------------------------------------------------------------------------------------------------------------


@given(st.text())
def test_clean_text_can_be_printed_anywhere(text: str) -> None:
    cleaned = clean(text)
    cleaned.encode("utf-8")
    assert all(letter in "\n\t" or not ("\x00" <= letter < " " or "\x7f" <= letter <= "\x9f") for letter in cleaned)
    assert clean(cleaned) == cleaned


@given(st.text(alphabet=st.characters(categories=["L", "N", "P", "Zs"])))
def test_clean_leaves_ordinary_text_alone(text: str) -> None:
    assert clean(text) == text


@given(st.text(), st.integers(1, 40))
def test_one_line_is_one_line_and_no_longer_than_asked(text: str, most: int) -> None:
    line = format_one_line(text, most)
    assert len(line) <= most and "\n" not in line


def test_first_sentence_stops_at_the_first_full_stop() -> None:
    assert extract_first_sentence("It has 3.5 cells. And more.") == "It has 3.5 cells."


def test_seconds_read_like_a_person_says_them() -> None:
    assert [format_seconds(n) for n in (0.123, 5, 42.4, 200, 7500)] == ["0.12 s", "5.0 s", "42 s", "3 min 20 s", "2 h 05 min"]


def test_a_time_beyond_every_calendar_is_seconds() -> None:
    assert format_timestamp(2.0**62) == "4.61169e+18 s after 1970" and format_timestamp(0).startswith(("1970-", "1969-"))


def test_entries_are_numbered_rules_with_what_follows_them() -> None:
    book = "# Head\n\n- **R1**. One\n  goes on.\n\nNot a rule.\n* R2: `two`\n## Open\nQ1) Why?\n"
    assert parse_entries(book) == {"R1": "One goes on.", "R2": "two", "Q1": "Why?"}


def test_changes_tell_new_gone_reworded_and_renumbered() -> None:
    before = "R1. Walls stop it.\nR2. Lava kills at once.\nR3. Nobody knows what the key is for.\n"
    after = "R1. Walls stop it.\nR2. Nobody knows what the key is for.\nR3. Doors open with a touch of blue.\n"
    after += "R4. Lava kills at once, and keys too.\n"
    found = {change.name: change.mark for change in compare_rulebooks(before, after)}
    assert found == {"R1": " ", "R2": " ", "R3": "+", "R4": "~"}
    gone = [change for change in compare_rulebooks(after, before) if change.mark == "-"]
    assert [change.text for change in gone] == ["Doors open with a touch of blue."]


@given(
    st.dictionaries(st.integers(1, 9), st.text("abc ", min_size=1)), st.dictionaries(st.integers(1, 9), st.text("abc ", min_size=1))
)
def test_changes_account_for_every_rule_once(old: dict[int, str], new: dict[int, str]) -> None:
    before, after = ("".join(f"R{k}. {text}\n" for k, text in rules.items()) for rules in (old, new))
    found = compare_rulebooks(before, after)
    assert [change.name for change in found if change.mark != "-"] == list(parse_entries(after))
    assert {change.text for change in found if change.mark == "-"} <= set(parse_entries(before).values())
    assert all(change.mark == " " for change in compare_rulebooks(after, after))


def test_a_diff_names_files_and_lines() -> None:
    lines = diff_hypotheses(NO_HOLES, TRUE)
    assert f"--- {RULEBOOK} before" in lines and f"+++ {ENGINE}" in lines and diff_hypotheses(TRUE, TRUE) == []


# -- live ------------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("width", "height"), [(80, 24), (130, 45), (60, 20), (40, 12), (200, 60)])
@pytest.mark.parametrize("name", ["evil", "population"])
def test_the_live_display_draws_every_moment_in_the_room_there_is(
    host: Host, tmp_path: Path, name: str, width: int, height: int
) -> None:
    with open("/dev/null", "w") as nowhere:  # noqa: PTH123
        console = Console(width=width, height=height, force_terminal=True, color_system="truecolor", file=nowhere)
        display = LiveDisplay(console, pauses=False)
        scenes: list[Scene] = []
        config = RunConfig(LAKE, population=2 if name == "population" else 1)
        with display, start_run(config, tmp_path, host=host, mind=evil()) as (_, session):
            display.attach(session)
            session.event_log.listeners.append(lambda _: scenes.append(display.scene))
            play(session)
        assert not display.has_failed
    assert len(scenes) > 20 and scenes[-1].mood == "good"
    for scene in dict.fromkeys(scenes):
        lines = plain(text_of(scene, width, height)).rstrip("\n").split("\n")
        assert len(lines) <= height and all(len(line) <= width for line in lines)
    # An exact drawing, in which nothing of the harmful texts is missing or has been obeyed as markup.
    shown = plain(text_of(scenes[-1], 200, 60))
    assert "[/red][bold]" in shown and r"\x1b[2J" in shown


def test_the_way_ahead_is_drawn_while_a_plan_is_followed(host: Host, tmp_path: Path) -> None:
    with open("/dev/null", "w") as nowhere:  # noqa: PTH123
        display = LiveDisplay(Console(force_terminal=True, file=nowhere), pauses=False)
        lengths: list[int] = []
        with display, start_run(RunConfig(LAKE), tmp_path, host=host, mind=Scripted([TRUE])) as (_, session):
            display.attach(session)
            session.event_log.listeners.append(
                lambda event: lengths.append(len(display.scene.way)) if event.kind is EventKind.OBSERVE else None
            )
            play(session)
    assert lengths == [5, 4, 3, 2, 1, 0]


def test_the_display_of_a_resumed_run_shows_what_it_had_told_before(host: Host, tmp_path: Path) -> None:
    with start_run(RunConfig(LAKE), tmp_path, host=host, mind=Scripted([TRUE])) as (folder, session):
        session.propose(Proposal(Decision.REVISE_RULEBOOK, TRUE.rulebook, TRUE.files))
        session.probe(DOWN, "what does it do?")
    with open("/dev/null", "w") as nowhere:  # noqa: PTH123
        display = LiveDisplay(Console(force_terminal=True, file=nowhere), pauses=False)
        with display, resume_run(folder, host=host, mind=Scripted([TRUE])) as again:
            display.attach(again)
    shown = plain(text_of(display.scene))
    assert " action 2 " in shown and "first sight" not in shown
    assert "v1 accepted" in shown and "probe 2: what does it do?" in shown


@pytest.mark.parametrize("width", [30, 36, 42, 60])
def test_what_is_spent_is_never_cut(width: int) -> None:
    scene = Scene(actions=123, budget=5000, spent=23, baseline="best 114")
    line = scene._format_budget_bar(width).plain
    assert len(line) <= width and line.lstrip("━ ").startswith("123 of 5,000")
    assert (", 23 here, best 114" in line) == (width > 30)


def test_a_display_that_fails_does_not_disturb_the_run(host: Host, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("LAWBOOK_DEBUG", raising=False)
    with open("/dev/null", "w") as nowhere:  # noqa: PTH123
        display = LiveDisplay(Console(force_terminal=True, file=nowhere), pauses=False)
        with display, start_run(RunConfig(LAKE), tmp_path, host=host, mind=Scripted([TRUE])) as (_, session):
            display.attach(session)
            display.scene = None  # type: ignore[assignment]
            play(session)
        assert display.has_failed and session.outcome == "won"


def test_plain_lines_tell_what_is_worth_telling(host: Host, tmp_path: Path) -> None:
    console = Console(record=True, width=80, file=open("/dev/null", "w"))  # noqa: SIM115, PTH123
    with start_run(RunConfig(LAKE), tmp_path, host=host, mind=Scripted([NO_HOLES, TRUE])) as (_, session):
        PlainDisplay(console).attach(session)
        play(session)
    lines = [line[7:] for line in console.export_text().splitlines()]
    assert lines[0].startswith(LAKE) and lines[-1] == "won: The last level is completed."
    assert any(line.startswith("v1 accepted") for line in lines) and any(line.startswith("wrong: action") for line in lines)
    assert any(line.startswith("game over") for line in lines) and any(line.startswith("reset") for line in lines)


def test_what_is_being_done_is_a_function_of_the_state(host: Host, tmp_path: Path) -> None:
    seen: list[str] = []
    with start_run(RunConfig(LAKE), tmp_path, host=host, mind=Scripted([NO_HOLES, TRUE])) as (_, session):
        session.event_log.listeners.append(lambda event: seen.append(describe_activity(session.state, session.protocol)[1]))
        play(session)
    for words in ("proving version 1", "looking for a way", "step 1 of 6 to the goal", "that was wrong", "once more", "won"):
        assert any(words in line for line in seen), words


# -- report and picture ----------------------------------------------------------------------------------------------------------


class Page(HTMLParser):
    """Tags, addresses and text of a page."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: Counter[str] = Counter()
        self.addresses: list[str] = []
        self.handlers: list[str] = []
        self.text = ""
        self.open: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.tags[tag] += 1
        self.handlers += [name for name, _ in attributes if name.startswith("on")]
        self.addresses += [value or "" for name, value in attributes if name in ("src", "href")]
        if tag not in ("meta", "img"):
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag in self.open:
            while self.open.pop() != tag:
                pass

    def handle_data(self, data: str) -> None:
        if "style" not in self.open and "script" not in self.open:
            self.text += data


def test_the_report_is_one_page_that_runs_its_own_script_and_fetches_nothing(ledger: Ledger) -> None:
    text = html_report.render(ledger)
    page, n = Page(text), compute_metrics(ledger)
    assert not page.tags["iframe"] and not page.tags["link"] and not page.handlers
    assert all(address.startswith("data:image/png;base64,") for address in page.addresses)
    assert "default-src 'none'" in text and not re.search(r"https?://(?!www\.w3\.org/2000/svg)|@import|url\(", text)
    scripts = re.findall(r"<script>(.*?)</script>", text, re.DOTALL)
    assert len(scripts) == 1 and b64encode(sha256(scripts[0].encode()).digest()).decode() in text.split("<title>")[0]
    assert n.head in page.text and n.world in page.text and str(n.actions) in page.text
    assert len(text) < 300_000


def test_the_report_shows_boards_texts_and_diffs(scripted: Ledger) -> None:
    page = Page(html_report.render(scripted))
    assert "predicted" in page.text and "observed" in page.text and page.tags["img"] >= 3
    assert "version 1 accepted" in page.text and "asked because of mismatch" in page.text
    for line in TRUE.rulebook.splitlines() + TRUE.files[ENGINE].splitlines():
        assert line in page.text


def test_harmful_texts_are_text_in_the_report(ledgers: dict[str, Path]) -> None:
    with Ledger.open(ledgers["evil"], readonly=True) as ledger:
        text = html_report.render(ledger)
    text.encode("utf-8")
    assert "\x1b" not in text and "\u202e" not in text and "\x00" not in text and "<script>alert" not in text
    assert set(re.findall(r"<script[^>]*>", text)) - {"<script>"} == set(
        re.findall(r'<script type="text/plain" id="\w+" [^>]*>', text)
    )
    page = Page(text)
    assert "<script>alert(1)</script>" in page.text and r"\u202egnirts" in page.text


def test_the_picture_is_sound_svg_with_nothing_from_elsewhere(ledgers: dict[str, Path]) -> None:
    for name in ("scripted", "evil", "population"):
        with Ledger.open(ledgers[name], readonly=True) as ledger:
            text = summary_svg.render(ledger)
        root = ET.fromstring(text)
        words = " ".join("".join(element.itertext()) for element in root.iter("{http://www.w3.org/2000/svg}text"))
        assert "First sight." in words and "A wrong prediction:" in words and "Won." in words and "R1" in words
        assert not re.search("<(image|script|style|foreignObject|use)|href|@import|url\\(", text)
        assert len(text) < 100_000


def test_there_is_no_picture_of_a_run_without_a_rulebook(ledgers: dict[str, Path]) -> None:
    from lawbook.errors import UsageError

    with Ledger.open(ledgers["random"], readonly=True) as ledger, pytest.raises(UsageError, match="nothing to draw"):
        summary_svg.render(ledger)
