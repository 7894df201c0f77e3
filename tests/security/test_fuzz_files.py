"""Whatever stands in a file of a run or in an address: an answer or a sentence, never a traceback. Hypothesis, bounded."""

from __future__ import annotations

import contextlib
import json
import shutil
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import long_run
import pytest
import tomli_w
from fuzzed import ANYTHING, SLOWER, SOON, WORDS, altered, commanded
from hypothesis import given
from hypothesis import strategies as st

from lawbook.arc.recording_io import export_run, import_recording, read_record, summarize_recording
from lawbook.errors import LawbookError, UsageError
from lawbook.experiments.campaign import CampaignConfig
from lawbook.ledger.ledger import Ledger
from lawbook.runs.folder import RunConfig, RunFolder
from lawbook.runs.state import fold_events
from lawbook.view import compare_page, html_report, summary_svg
from lawbook.view.run_index import RunIndex
from lawbook.view.web import charts, members, overview, proposals, steps
from lawbook.view.web.run_store import RunStore
from lawbook.worlds.address import WorldAddress, make_world

# -- addresses and options ------------------------------------------------------------------------------------------------------

ADDRESSES = st.text(max_size=40) | st.builds(
    "{}:{}?{}".format,
    st.sampled_from(["demo", "gym", "minigrid", "py", "arc", "x", ""]),
    WORDS | st.sampled_from(["maze", "FrozenLake-v1", "CliffWalking-v1", "MiniGrid-Empty-5x5-v0", "os:path/x", "json:dumps/y"]),
    WORDS | st.builds("{}={}".format, st.sampled_from(["seed", "size", "map_seed", "is_slippery", "render_mode", "id"]), WORDS),
)


@SOON
@given(ADDRESSES)
def test_an_address_is_read_or_refused(text: str) -> None:
    try:
        address = WorldAddress.parse(text)
    except UsageError as refusal:
        assert str(refusal).endswith((".", "?"))
        return
    assert WorldAddress.parse(str(address)) == address


@SOON
@given(
    st.sampled_from(["demo:maze", "demo:lights", "gym:FrozenLake-v1", "gym:CliffWalking-v1", "minigrid:MiniGrid-Empty-5x5-v0"]),
    st.dictionaries(
        st.sampled_from(["seed", "size", "map_seed", "is_slippery", "max_episode_steps", "render_mode", "desc", "map_name", "id"]),
        st.sampled_from(["1", "-1", "true", "0.5", "None", "[]", "4x4", "1e999", "9" * 30, "ansi", "\x00", "{}"]) | WORDS,
        max_size=3,
    ),
)
def test_options_make_a_world_or_a_sentence(address: str, options: dict[str, str]) -> None:
    scheme, _, name = address.partition(":")
    try:
        made = make_world(WorldAddress(scheme, name, options))
    except UsageError as refusal:
        assert "\n" not in str(refusal)
        return
    seen = made.reset()
    assert seen.frame.shape == made.spec.shape
    made.close()


@SOON
@given(
    st.lists(st.sampled_from(["play", "show", "view", "--seed", "--budget", "--mind", "--out", "--json", "-o"]) | WORDS, max_size=5)
)
def test_a_command_line_is_done_or_refused(words: list[str]) -> None:
    if words[:1] in (["view"], ["play"]):  # they would serve, or play
        words = [*words, "--no-such-option"]
    commanded(*words)


# -- run.toml -------------------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> RunFolder:
    """A short run with everything in it: plans, wrong predictions, versions, levels."""
    with pytest.MonkeyPatch.context() as patch:
        for name, value in (("PER_LEVEL", 10), ("PLAN", 4), ("MISS", 2)):
            patch.setattr(long_run, name, value)
        return long_run.write(tmp_path_factory.mktemp("run"), 24)


@SOON
@given(st.binary(max_size=60) | st.text(max_size=60).map(lambda text: text.encode("utf-8", "surrogatepass")))
def test_whatever_bytes_stand_in_run_toml(run: RunFolder, text: bytes) -> None:
    config_of(run, text)


@SOON
@given(st.data())
def test_whatever_values_stand_in_run_toml(run: RunFolder, data: st.DataObject) -> None:
    settings = {"run": {"world": "demo:maze", "mind": "induce", "budget": 5, "seed": 1, "weak_sandbox": False, "policy": "uniform"}}
    changed = data.draw(altered(settings))
    try:
        text = tomli_w.dumps(changed).encode("utf-8", "surrogatepass")
    except (TypeError, ValueError, AttributeError):
        return  # TOML cannot say this
    config_of(run, text)


def config_of(run: RunFolder, text: bytes) -> None:
    folder = RunFolder(run.path.with_name("toml"))
    folder.path.mkdir(exist_ok=True)
    folder.toml.write_bytes(text)
    try:
        assert isinstance(folder.load_config(), RunConfig)
    except UsageError as refusal:
        assert len(str(refusal)) < 2000


# -- a campaign's file ------------------------------------------------------------------------------------------------------------

CAMPAIGN = {
    "worlds": ["demo:maze"], "minds": ["induce"], "protocols": ["memento3"], "seeds": [0, 1], "budget": 9, "population": 1,
    "nodes": 9, "mode": "", "tags": ["x"], "source_url": "", "caps": {"actions": 5, "money": 1.5, "minutes": 2},
}  # fmt: skip


@SOON
@given(st.data())
def test_whatever_stands_in_a_campaign(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject) -> None:
    changed = data.draw(altered(CAMPAIGN) | ANYTHING)
    try:
        text = tomli_w.dumps(changed).encode("utf-8", "surrogatepass")
    except (TypeError, ValueError, AttributeError):
        text = data.draw(st.binary(max_size=30))
    file = tmp_path_factory.mktemp("campaign") / "x.toml"
    file.write_bytes(text)
    try:
        assert all(isinstance(cell, RunConfig) for cell in CampaignConfig.read(file).list_run_configs())
    except UsageError as refusal:
        assert "\n" not in str(refusal) and len(str(refusal)) < 2000


# -- rows of the ledger ---------------------------------------------------------------------------------------------------------

COMMANDS = (["show"], ["show", "--json"], ["history"], ["rulebook"], ["program"], ["audit"], ["audit", "--json"])


@SLOWER
@given(st.data())
def test_a_row_that_was_changed_is_a_sentence(run: RunFolder, data: st.DataObject) -> None:
    """Any event with anything in any place of it, read by everything that reads ledgers."""
    folder = copied(run)
    with sqlite3.connect(folder.ledger, isolation_level=None) as database:
        count = database.execute("SELECT count(*) FROM events").fetchone()[0]
        seq = data.draw(st.integers(0, count - 1) | st.just(0))
        column = data.draw(st.sampled_from(["body"] * 6 + ["kind", "time", "stored", "hash", "prev_hash"]))
        if column == "body":
            body = json.loads(database.execute("SELECT body FROM events WHERE seq = ?", (seq,)).fetchone()[0])
            value: Any = json.dumps(data.draw(altered(body)))
        else:
            value = data.draw(
                st.sampled_from(["observe", "open", "verdict", "", "x", "[]", "[1]", "null", 7, -1.5, b"\xff", 2**62])
            )
        rows = [database.execute("SELECT * FROM events WHERE seq = ?", (seq,)).fetchone()]
        database.execute(f"UPDATE events SET {column} = ? WHERE seq = ?", (value, seq))
        rows.append(database.execute("SELECT * FROM events WHERE seq = ?", (seq,)).fetchone())
    database.close()
    everything_reads(folder, altered=rows[0] != rows[1])


def test_whoever_stumbles_over_an_altered_event_is_told_so(run: RunFolder) -> None:
    """What cannot be made sense of is no bug of ours where the ledger has been altered, and one where it has not."""
    folder = copied(run)
    with sqlite3.connect(folder.ledger, isolation_level=None) as database:
        database.execute("UPDATE events SET body = replace(body, '\"budget\":24', '\"budget\":null') WHERE seq = 0")
    database.close()
    code, told = commanded("show", str(folder.path))
    assert code == 2 and "Event 0 has been altered." in told
    with pytest.raises(UsageError, match=r"has been altered: Event 0"), Ledger.open(folder.ledger, readonly=True):
        raise TypeError("what does that mean?")
    with pytest.raises(TypeError, match="mean"), Ledger.open(run.ledger, readonly=True):
        raise TypeError("what does that mean?")


@SLOWER
@given(st.data())
def test_a_content_that_was_changed_is_a_sentence(run: RunFolder, data: st.DataObject) -> None:
    folder = copied(run)
    with sqlite3.connect(folder.ledger, isolation_level=None) as database:
        count = database.execute("SELECT max(key) FROM contents").fetchone()[0]
        key = data.draw(st.integers(1, count))
        column = data.draw(st.sampled_from(["data", "kind", "id"]))
        value = data.draw(st.binary(max_size=20) | st.sampled_from([None, 3, "text", "frame", "x" * 40]))
        rows = [database.execute("SELECT * FROM contents WHERE key = ?", (key,)).fetchone()]
        with contextlib.suppress(sqlite3.IntegrityError):
            database.execute(f"UPDATE contents SET {column} = ? WHERE key = ?", (value, key))
        rows.append(database.execute("SELECT * FROM contents WHERE key = ?", (key,)).fetchone())
    database.close()
    everything_reads(folder, altered=rows[0] != rows[1])


def copied(run: RunFolder) -> RunFolder:
    """A copy that may be spoiled; nothing is left of the one before."""
    copy = run.path.with_name("copy")
    shutil.rmtree(copy, ignore_errors=True)
    shutil.copytree(run.path, copy)
    return RunFolder(copy)


def everything_reads(folder: RunFolder, *, altered: bool) -> None:
    for words in COMMANDS:
        code, _ = commanded(words[0], str(folder.path), *words[1:])
        assert code or not altered or words[0] != "audit", "an audit that finds nothing"
    commanded("runs", "--out", str(folder.path.parent))
    with Ledger.open(folder.ledger, readonly=True, check=False) as ledger:
        wrong = ledger.check()
        assert (wrong is not None and wrong.endswith(".")) or not altered
    for read in (fold_events, html_report.render, summary_svg.render):
        calmly(with_ledger, folder, read)
    shelf = RunStore(folder.path.parent)
    shelf.build_table()
    for asked in (
        overview.describe_run,
        steps.pack_strip,
        proposals.list_proposals,
        members.describe_members,
        charts.build_series,
        a_window,
        a_proposal,
    ):
        calmly(with_shelf, shelf, folder.path.name, asked)
    shelf.close()
    calmly(compare_page.render, [("one", folder.ledger)])
    calmly(export_run, folder, folder.path / "out.jsonl")


def with_ledger(folder: RunFolder, read: Callable[[Ledger], Any]) -> None:
    with Ledger.open(folder.ledger, readonly=True) as ledger:
        read(ledger)


def with_shelf(shelf: RunStore, name: str, asked: Callable[[RunIndex], Any]) -> None:
    with shelf.open_run(name) as chronicle:
        asked(chronicle)


def a_window(chronicle: RunIndex) -> Any:
    return steps.pack_window(chronicle, 0, 50)


def a_proposal(chronicle: RunIndex) -> Any:
    return proposals.describe_proposal(chronicle, 1)


def calmly(read: Any, *given: Any) -> None:
    try:
        read(*given)
    except LawbookError as error:
        assert "\n" not in str(error) and len(str(error)) < 3000


# -- recordings -----------------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def lines(run: RunFolder) -> list[dict[str, Any]]:
    file = run.path / "whole.jsonl"
    export_run(run, file)
    return [json.loads(line) for line in file.read_text().splitlines()[:12]]


@SOON
@given(st.data())
def test_a_recording_that_was_changed_is_taken_or_refused_by_its_line(
    tmp_path_factory: pytest.TempPathFactory, lines: list[dict[str, Any]], data: st.DataObject
) -> None:
    small = [{**line, "data": {**line["data"], "frame": [[row[:3] for row in line["data"]["frame"][-1][:3]]]}} for line in lines]
    at = data.draw(st.integers(0, len(small) - 1))
    small[at] = data.draw(altered(small[at]))
    read_whole(tmp_path_factory.mktemp("lines"), "\n".join(map(json.dumps, small)).encode())


@SOON
@given(
    st.binary(max_size=80) | st.binary(max_size=80).map(lambda tail: b"\x1f\x8b\x08" + tail) | st.text(max_size=40).map(str.encode)
)
def test_whatever_bytes_are_called_a_recording(tmp_path_factory: pytest.TempPathFactory, text: bytes) -> None:
    read_whole(tmp_path_factory.mktemp("bytes"), text)


def read_whole(folder: Path, text: bytes) -> None:
    file = folder / "x.jsonl"
    file.write_bytes(text)
    for read in (summarize_recording, read_record, lambda file: import_recording(file, folder / "out")):
        try:
            read(file)
        except UsageError as refusal:
            assert str(file) in str(refusal) and len(str(refusal)) < 3000
    assert not list((folder / "out").glob(".import-*"))
    commanded("import", str(file), "--out", str(folder / "out"))


@SOON
@given(ANYTHING)
def test_any_json_is_no_recording_yet(tmp_path_factory: pytest.TempPathFactory, value: Any) -> None:
    read_whole(tmp_path_factory.mktemp("json"), json.dumps(value).encode())
