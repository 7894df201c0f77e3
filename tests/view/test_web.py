"""What the viewer's server answers, against the ledger itself; who may ask; what it does with nonsense; reports and pictures."""

from __future__ import annotations

import http.client
import io
import json
import re
import shutil
import signal
import sqlite3
import struct
import subprocess
import sys
import time
import zlib
from base64 import b64decode
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import long_run
import numpy as np
import pytest
from evil_minds import DOWN, TRUE
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from lakes import LAKE
from minds import Scripted
from PIL import Image
from served import Client, served

from lawbook.core.hypothesis import ENGINE, Decision, Proposal, find_rule_citations
from lawbook.ledger.events import EventKind
from lawbook.ledger.ledger import Ledger
from lawbook.runs.folder import RunConfig, RunFolder, list_runs
from lawbook.runs.lifecycle import start_run
from lawbook.sandbox.host import Host
from lawbook.view import compare_page, export_images, html_report
from lawbook.view.gif import encode_gif
from lawbook.view.metrics import compute_metrics
from lawbook.view.palette import get_palette
from lawbook.view.run_index import RunIndex
from lawbook.view.web import bundle, overview, steps
from lawbook.view.web.run_store import MAX_OPEN_RUNS, RunStore

OBEYED = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


@pytest.fixture(scope="module")
def client(runs: dict[str, RunFolder]) -> Iterator[Client]:
    with served(runs["scripted"].path.parent) as port:
        yield Client(port)


@pytest.fixture(scope="module")
def long(tmp_path_factory: pytest.TempPathFactory) -> RunFolder:
    return long_run.write(tmp_path_factory.mktemp("long"), 1000, animation=3)


@pytest.fixture(params=["scripted", "evil", "population", "random"])
def folder(request: pytest.FixtureRequest, runs: dict[str, RunFolder]) -> RunFolder:
    return runs[request.param]


def parts(body: bytes) -> tuple[Any, dict[str, np.ndarray]]:
    """A window as the page takes it apart: what is told, and frames by id."""
    (size,) = struct.unpack_from("<I", body)
    return json.loads(body[4 : 4 + size]), frames_of(body[4 + size :])


def frames_of(packed: bytes) -> dict[str, np.ndarray]:
    found, at = {}, 0
    while at < len(packed):
        name, height, width = struct.unpack_from("<20sHH", packed, at)
        found[name.hex()] = np.frombuffer(packed, np.uint8, height * width, at + 24).reshape(height, width)
        at += 24 + height * width
    return found


# -- what is answered is what is on record ---------------------------------------------------------------------------------------


def test_the_table_tells_of_every_run_what_its_numbers_say(client: Client, runs: dict[str, RunFolder]) -> None:
    rows = {row["name"]: row for row in client.json("/api/runs")["runs"]}
    assert set(rows) == set(runs)
    for name, folder in runs.items():
        with Ledger.open(folder.ledger, readonly=True) as ledger:
            n = compute_metrics(ledger)
        row = rows[name]
        assert (row["state"], row["actions"], row["completed"], row["mind"]) == (n.outcome, n.actions, n.levels_completed, n.mind)
        assert row["tokens"] == n.costs.get("tokens")
        assert client.ask(f"/api/runs/{name}/picture.png")[2].startswith(b"\x89PNG")
    assert rows["scripted"]["efficiency"] == 100 * min(1.15, (rows["scripted"]["solved"][1] / rows["scripted"]["solved"][0]) ** 2)


def test_a_window_holds_every_step_as_the_ledger_has_it(client: Client, folder: RunFolder) -> None:
    told, frames = parts(client.ask(f"/api/runs/{folder.path.name}/window?from=0&to=63")[2])
    with Ledger.open(folder.ledger, readonly=True) as ledger:
        observed = [event.body for event in ledger.read_events([EventKind.OBSERVE])]
        intends = [event.body for event in ledger.read_events([EventKind.INTEND])]
        assert [step["n"] for step in told] == list(range(len(observed)))
        for step, seen, meant in zip(told, observed, [None, *intends], strict=True):
            assert (step["frames"], step["level"]) == (seen["frames"], seen["level"])
            assert np.array_equal(frames[step["frames"][-1]], ledger.get_frame(seen["frames"][-1]))
            if meant is None:
                continue
            assert (step["action"], step["sort"], step["member"]) == (meant["action"], meant["sort"], meant["member"])
            for member, (name, status) in meant["predictions"].items():
                predicted = step["predicted"][member]
                assert (predicted["frame"], predicted["status"]) == (name, status)
                assert np.array_equal(frames[name], ledger.get_frame(name))
                same = name == seen["frames"][-1] or seen["status"] == "completed"
                assert predicted["exact"] == (status == seen["status"] and same)


def test_the_overview_agrees_with_a_straight_count(client: Client, folder: RunFolder) -> None:
    told = client.json(f"/api/runs/{folder.path.name}/overview")
    with Ledger.open(folder.ledger, readonly=True) as ledger:
        events, n = list(ledger), compute_metrics(ledger)
    kinds = Counter(event.kind for event in events)
    assert (
        told["steps"] == kinds[EventKind.INTEND] and told["seq"] == events[-1].seq and told["proposals"] == kinds[EventKind.PROPOSE]
    )
    assert len(told["versions"]) == n.versions and len(told["refusals"]) == n.refusals and told["state"] == n.outcome
    ends = [first for first, _ in told["kinds"][1:]] + [told["steps"] + 1]
    spent = Counter(dict.fromkeys(n.actions_by_kind, 0))
    for (first, sort), end in zip(told["kinds"], ends, strict=True):
        spent[sort] += end - first
    assert dict(spent) == n.actions_by_kind


def test_reading_without_looking_at_frames_gives_the_same_numbers(folder: RunFolder) -> None:
    chronicle = RunIndex(folder.ledger)
    with Ledger.open(folder.ledger, readonly=True) as ledger:
        assert chronicle.compute_metrics() == compute_metrics(ledger)
    chronicle.close()


def test_every_wrong_prediction_has_its_step_and_every_trajectory_its_place(runs: dict[str, RunFolder]) -> None:
    chronicle = RunIndex(runs["scripted"].ledger)
    chronicle.read_events()
    record = chronicle.state.record
    for t, trajectory in enumerate(record):
        first = chronicle.find_step(t, 0)
        assert first is not None
        for k, (action, _) in enumerate(trajectory.steps, 1):
            told = chronicle.steps[first + k].event
            assert told is not None and told.action == action and chronicle.find_step(t, k) == first + k
    assert chronicle.find_step(len(record), 0) is None
    missed = chronicle.mismatches[0]
    assert missed.verdict.counterexample is not None
    assert chronicle.find_step(missed.verdict.counterexample.trajectory, missed.verdict.counterexample.step) == missed.at
    chronicle.close()


def test_a_rule_leads_to_its_code_and_to_the_evidence_that_changed_it(client: Client, runs: dict[str, RunFolder]) -> None:
    proposals = client.json("/api/runs/scripted/proposals")["proposals"]
    first, last = proposals[0], next(one for one in reversed(proposals) if one["version"] and one["version"] > 1)
    assert [one["number"] for one in proposals] == list(range(1, len(proposals) + 1))
    misses = client.json("/api/runs/scripted/overview")["misses"]
    assert first["cause"] is None and last["cause"]["step"] in misses
    told = client.json(f"/api/runs/scripted/proposals/{last['number']}")
    cited = find_rule_citations(TRUE).citations
    for rule in ("R1", "R2", "R3", "R4"):
        assert [f"{file}:{line}" for file, line in told["rules"][rule]["places"]] == list(cited[rule])
        assert told["rules"][rule]["past"][0]["number"] == first["number"]
    assert told["rules"]["R3"]["past"][-1]["step"] in misses and len(told["rules"]["R1"]["past"]) == 1
    rows = {text["name"]: text["rows"] for text in told["texts"]}
    gone = [text for sign, _, _, text in rows[ENGINE] if sign == "-"]
    new = [text for sign, _, _, text in rows[ENGINE] if sign == "+"]
    assert gone == ["    return False  # R3"] and new == ["    return here(state) == 1  # R3"]
    assert [text for sign, _, _, text in rows[ENGINE] if sign != "-"] == TRUE.files[ENGINE].splitlines()


def test_a_refused_proposal_shows_where_it_and_the_record_part(client: Client) -> None:
    refused = [one for one in client.json("/api/runs/scripted/proposals")["proposals"] if one["outcome"] == "counterexample"]
    assert refused
    example = client.json(f"/api/runs/scripted/proposals/{refused[0]['number']}")["counterexample"]
    step = parts(client.ask(f"/api/runs/scripted/window?from={example['step']}&to={example['step']}")[2])[0][0]
    assert step["action"] == example["action"] and step["status"] == example["expected"] == "over" != example["predicted"]


def test_a_plan_leads_from_where_it_set_out_to_its_end(client: Client, runs: dict[str, RunFolder]) -> None:
    chronicle = RunIndex(runs["scripted"].ledger)
    chronicle.read_events()
    plan = chronicle.plan_draws[-1]
    chronicle.close()
    told = client.json(f"/api/runs/scripted/plans/{plan.plan_seq}")
    assert len(told["points"]) == len(told["actions"]) + 1 == len(plan.predicted_frames) + 1 and told["certified"]
    steps = parts(client.ask(f"/api/runs/scripted/window?from={told['from']}&to={told['from'] + 1}")[2])[0]
    assert steps[0]["ahead"] == plan.plan_seq == steps[1]["plan"]


def test_members_and_draws_tell_who_drove_and_who_fell(client: Client, runs: dict[str, RunFolder]) -> None:
    told, drawn = client.json("/api/runs/population/members"), client.json("/api/runs/population/draws")
    with Ledger.open(runs["population"].ledger, readonly=True) as ledger:
        draws = [event.body for event in ledger.read_events([EventKind.DRAW])]
        wrong = [e.body["member"] for e in ledger.read_events([EventKind.VERDICT]) if e.body["about"] == "prediction"]
    assert len(told["members"]) == 2 and drawn["first"] == 0
    assert [one["classes"] for one in reversed(drawn["draws"])] == [one["classes"] for one in draws]
    assert Counter(wrong) == {m["index"]: len(m["misses"]) for m in told["members"] if m["misses"]}
    assert sum(m["drove"] for m in told["members"]) == len(draws)
    assert all(m["spans"][-1][1] is None for m in told["members"] if m["admissible"])


def test_lines_of_numbers_end_where_the_numbers_are(client: Client) -> None:
    told = client.json("/api/runs/scripted/series")
    assert told["costs"]["tokens"][-1][1] == told["numbers"]["costs"]["tokens"]
    assert told["bytes"][0][-1][1] == told["numbers"]["description_bytes"][0]
    assert all(0 <= share <= 1 for _, share in told["accuracy"])


def test_nothing_that_is_answered_holds_what_a_page_would_obey(client: Client, runs: dict[str, RunFolder]) -> None:
    base = "/api/runs/evil"
    paths = ["head", "overview", "proposals", "members", "draws", "series"]
    paths += [f"proposals/{one['number']}" for one in client.json(f"{base}/proposals")["proposals"]]
    told = [client.json(f"{base}/{path}") for path in paths] + [parts(client.ask(f"{base}/window?from=0&to=63")[2])[0]]
    texts = list(strings(told))
    assert any("<script>alert(1)</script>" in text for text in texts) and any(r"\u202egnirts" in text for text in texts)
    assert not [text for text in texts if OBEYED.search(text)]


def strings(found: Any) -> Iterator[str]:
    if isinstance(found, str):
        yield found
    for one in found.values() if isinstance(found, dict) else found if isinstance(found, list) else ():
        yield from strings(one)


# -- windows, and what grows -----------------------------------------------------------------------------------------------------


def test_a_window_costs_what_it_shows_and_not_what_the_run_holds(long: RunFolder) -> None:
    chronicle = RunIndex(long.ledger)
    early = steps.pack_window(chronicle, 0, 31)
    assert len(chronicle.steps) < 400, "the whole run was read for its beginning"
    chronicle.read_events()
    late = steps.pack_window(chronicle, 960, 991)
    assert max(len(early), len(late)) < 80 * 4200
    assert len(json.dumps(overview.build_overview(chronicle))) < 20_000
    assert len(steps.pack_strip(chronicle)) < 257 * 4200
    chronicle.close()


def test_a_run_that_is_played_is_told_of_as_it_grows(host: Host, tmp_path: Path) -> None:
    with start_run(RunConfig(LAKE), tmp_path, host=host, mind=Scripted([TRUE])) as (folder, session), served(tmp_path) as port:
        client, name = Client(port), folder.path.name
        session.propose(Proposal(Decision.REVISE_RULEBOOK, TRUE.rulebook, TRUE.files))
        assert client.json("/api/runs")["runs"][0]["state"] == "playing"
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
        connection.request("GET", f"/api/runs/{name}/grows")
        stream = connection.getresponse()
        before = event(stream)
        assert before["alive"]
        session.probe(DOWN, "what does it do?")
        assert event(stream)["seq"] > before["seq"]
        stream.close()
        connection.close()
        assert client.json(f"/api/runs/{name}/overview")["steps"] == 1
        session.probe(DOWN, "once more?")
        told, _ = parts(client.ask(f"/api/runs/{name}/window?from=0&to=9")[2])
        assert [step["n"] for step in told] == [0, 1, 2] and told[2]["question"] == "once more?"
    with served(tmp_path) as port:
        assert Client(port).json("/api/runs")["runs"][0]["state"] == "paused"


def event(stream: http.client.HTTPResponse) -> Any:
    """The next of a stream of server-sent events."""
    while not (line := stream.readline()).startswith(b"data: "):
        assert line, "the stream has ended"
    return json.loads(line[6:])


def test_a_shelf_lets_go_of_runs_that_nobody_looks_at(runs: dict[str, RunFolder], tmp_path: Path) -> None:
    for number in range(MAX_OPEN_RUNS + 3):
        shutil.copytree(runs["random"].path, tmp_path / f"run{number}")
    shelf = RunStore(tmp_path)
    with shelf.open_run("run0") as held:
        for number in range(MAX_OPEN_RUNS + 3):
            with shelf.open_run(f"run{number}") as chronicle:
                assert len(steps.pack_window(chronicle, 0, 5)) > 1000
        assert len(steps.pack_window(held, 0, 5)) > 1000
    assert len(shelf._open_runs) <= MAX_OPEN_RUNS
    shelf.close()


def test_a_run_that_is_broken_is_told_of_in_a_sentence_and_hides_no_other(runs: dict[str, RunFolder], tmp_path: Path) -> None:
    for name in ("good", "garbage", "altered"):
        shutil.copytree(runs["scripted"].path, tmp_path / name)
    (tmp_path / "garbage" / "ledger.sqlite").write_bytes(b"no ledger at all" * 100)
    for path in (tmp_path / "garbage").glob("ledger.sqlite-*"):
        path.unlink()
    database = sqlite3.connect(tmp_path / "altered" / "ledger.sqlite")
    database.execute("UPDATE events SET body = '{\"frames\": 3}' WHERE kind = 'observe'")
    database.commit()
    database.close()
    with served(tmp_path) as port:
        client = Client(port)
        rows = {row["name"]: row for row in client.json("/api/runs")["runs"]}
        assert rows["good"]["state"] == "won" and rows["garbage"]["state"] == rows["altered"]["state"] == "broken"
        for name in ("garbage", "altered"):
            status, _, body = client.ask(f"/api/runs/{name}/overview")
            assert status == 404 and json.loads(body)["error"].endswith(".")


# -- who may ask, and nonsense ---------------------------------------------------------------------------------------------------


def test_every_answer_says_what_a_page_may_do(client: Client) -> None:
    for path in ("/", "/static/main.js", "/api/runs", "/nowhere", "/api/runs/none/head", "/api/runs/scripted/window?from=x"):
        _, headers, _ = client.ask(path)
        policy = headers["content-security-policy"]
        assert (
            "default-src 'none'" in policy
            and "script-src 'self'" in policy
            and "unsafe" not in policy
            and "frame-ancestors" in policy
        )
        assert headers["x-content-type-options"] == "nosniff" and headers["referrer-policy"] == "no-referrer"
    page = client.ask("/")[2].decode()
    assert not re.search(r"<script(?! type=\"module\" src=\"/static/)|<style| on\w+=| style=|https?:", page)


def test_only_reading_is_answered(client: Client) -> None:
    assert {client.ask(path, method)[0] for path in ("/api/runs", "/") for method in ("POST", "PUT", "DELETE")} == {405}


@pytest.mark.parametrize("name", ["..", ".", "%2e%2e", "..%2f..%2fetc", "%00", "scripted%2fmemory", "a" * 3000, "%ff", "nothing"])
def test_no_name_leads_out_of_the_folder_of_runs(client: Client, name: str) -> None:
    status, _, body = client.ask(f"/api/runs/{name}/head")
    assert status in (400, 404) and b"colours" not in body


@pytest.mark.parametrize("path", ["/static/../app.py", "/static/..%2fapp.py", "/static/%2e%2e/app.py", "/static//etc/passwd"])
def test_no_static_file_lies_outside(client: Client, path: str) -> None:
    assert client.ask(path)[0] in (404, 405)


def test_a_page_from_elsewhere_cannot_have_its_name_point_here(client: Client) -> None:
    for host in ("evil.example", "evil.example:80", "127.0.0.1.evil.example", "", "[::2]"):
        assert client.ask("/api/runs", Host=host)[0] in (400, 403)
    for host in ("localhost", "LOCALHOST:1234", "127.0.0.1:9", "[::1]:9", "[::1]"):
        assert client.ask("/api/runs", Host=host)[0] == 200


def test_with_a_token_only_who_holds_it_looks(runs: dict[str, RunFolder]) -> None:
    with served(runs["scripted"].path.parent, "se-cret") as port:
        client = Client(port)
        for path in ("/", "/api/runs", "/static/main.js", "/?token=wrong", "/?token=", "/nowhere"):
            assert client.ask(path)[0] == 401
        assert client.ask("/", Cookie="lawbook=wrong; other=\x07")[0] == 401
        status, headers, _ = client.ask("/?token=se-cret")
        assert status == 303 and headers["location"] == "/" and "httponly" in headers["set-cookie"].lower()
        cookie = headers["set-cookie"].split(";")[0]
        assert client.ask("/api/runs", Cookie=cookie, Host="somewhere.example")[0] == 200
        assert client.ask("//evil.example/x?token=se-cret&a=1")[1]["location"] == "/evil.example/x?a=1"


NAMES = st.sampled_from(["from", "to", "ids", "before", "number", "run", "token"])
VALUES = st.one_of(
    st.integers(-5, 10**15).map(str), st.text(max_size=20), st.sampled_from(["", "0", "63", "٣", "1e3", "0" * 40, "00"])
)
PATHS = st.sampled_from(
    ["window", "frames", "draws", "plans/0", "plans/-1", "proposals/0", "proposals/99999999999999", "head", "strip", "x", "grows/x"]
)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(path=PATHS, query=st.lists(st.tuples(NAMES, VALUES), max_size=4), name=st.sampled_from(["scripted", "evil", "x", "%FF"]))
def test_nonsense_is_answered_with_a_sentence(client: Client, path: str, query: list[tuple[str, str]], name: str) -> None:
    asked = "&".join(f"{key}={quote(value.encode('utf-8', 'replace'))}" for key, value in query)
    status, _, body = client.ask(f"/api/runs/{name}/{path}?{asked}")
    assert status in (200, 400, 404)
    if status != 200:
        sentence = json.loads(body)["error"]
        assert sentence and "\n" not in sentence and "Traceback" not in sentence and "bug" not in sentence


# -- files that stand alone ------------------------------------------------------------------------------------------------------


def test_a_report_of_1000_actions_is_under_5_mb_and_holds_every_frame(long: RunFolder) -> None:
    with Ledger.open(long.ledger, readonly=True) as ledger:
        page = html_report.render(ledger)
        blobs = dict(re.findall(r'<script type="text/plain" id="(\w+)"[^>]*>([^<]*)</script>', page))
        assert len(page.encode()) < 5_000_000
        told = json.loads(zlib.decompress(b64decode(blobs["run"])))
        observed = [event.body for event in ledger.read_events([EventKind.OBSERVE])]
        assert len(told["steps"]) == len(observed) == 1001
        packs = [zlib.decompress(b64decode(blobs[f"frames{k}"])) for k in range(sum(name.startswith("frames") for name in blobs))]
        frames = [frame for pack in packs for frame in unshaped(pack)]
        for step, seen in list(zip(told["steps"], observed, strict=True))[::97]:
            assert [frames[number].tobytes() for number in step["frames"]] == [
                ledger.get_frame(name).tobytes() for name in seen["frames"]
            ]


def unshaped(pack: bytes) -> Iterator[np.ndarray]:
    at = 0
    while at < len(pack):
        height, width = struct.unpack_from("<HH", pack, at)
        yield np.frombuffer(pack, np.uint8, height * width, at + 4).reshape(height, width)
        at += 4 + height * width


def test_a_report_keeps_its_size_whatever_the_frames_hold(long: RunFolder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What there is no room for is left out, animations first, and the report says how many frames that are."""
    monkeypatch.setattr(html_report, "MAX_BYTES", 500_000)
    with Ledger.open(long.ledger, readonly=True) as ledger:
        page = html_report.render(ledger)
    assert len(page.encode()) < 520_000
    told = json.loads(zlib.decompress(b64decode(re.search(r'id="run"[^>]*>([^<]*)', page)[1])))  # type: ignore[index]
    assert told["series"]["left_out"] > 0 and len(told["steps"]) == 1001


def test_the_bundle_is_every_module_once_and_imports_nothing() -> None:
    text = bundle.build_script()
    modules = {path.stem for path in bundle.STATIC.glob("*.js")} - {"source"}
    assert modules == set(re.findall(r"^const from_(\w+) = ", text, re.MULTILINE))
    assert not re.search(r"^\s*(import|export)\b", text, re.MULTILINE)
    served_page = (bundle.STATIC / "index.html").read_text()
    assert {*re.findall(r'modulepreload" href="/static/(\w+)\.js', served_page), "main", "packed"} == modules | {"source"}


def test_runs_stand_side_by_side_on_one_page_that_runs_nothing(runs: dict[str, RunFolder], client: Client) -> None:
    page = compare_page.render([(name, folder.ledger) for name, folder in runs.items()])
    assert "<script" not in page and not re.search(r"https?://|@import|url\(| on\w+=", page)
    assert all(name in page for name in runs) and OBEYED.search(page) is None
    status, headers, body = client.ask("/compare?run=scripted&run=population")
    assert status == 200 and b"population" in body and "script-src" not in headers["content-security-policy"]
    assert client.ask("/compare?run=scripted")[0] == 404


def test_the_film_of_a_level_shows_every_frame_exactly(runs: dict[str, RunFolder], tmp_path: Path) -> None:
    made = Image.open(io.BytesIO(export_images.render_animation(runs["random"].ledger, 0)))
    with Ledger.open(runs["random"].ledger, readonly=True) as ledger:
        bodies = [event.body for event in ledger.read_events([EventKind.OBSERVE])]
        end = next(k for k, body in enumerate(bodies) if body["level"] > 0)
        names = [bodies[0]["frames"][-1], *(name for body in bodies[1:end] for name in body["frames"]), *bodies[end]["frames"][:-1]]
        colours = np.array(get_palette("arc").colours, np.uint8)
        assert made.n_frames == len(names)  # type: ignore[attr-defined]
        for k, name in enumerate(names):
            made.seek(k)
            seen = np.asarray(made.convert("RGB"))
            assert np.array_equal(seen[3::7, 3::7], colours[ledger.get_frame(name)])
    sheet = Image.open(io.BytesIO(export_images.render_storyboard(runs["random"].ledger, 0)))
    sheet.load()
    assert sheet.width > 1000


@settings(max_examples=40, deadline=None)
@given(st.integers(1, 256), st.integers(1, 40), st.integers(1, 40), st.integers(1, 3), st.integers(0, 2**32 - 1))
def test_any_frames_come_back_out_of_a_gif(colours: int, height: int, width: int, count: int, seed: int) -> None:
    choice = np.random.default_rng(seed)
    frames = [choice.integers(0, colours, (height, width), np.uint8) for _ in range(count)]
    frames += frames[-1:] * choice.integers(0, 3)  # equal frames in a row stay frames of their own
    delays = [int(delay) for delay in choice.integers(1, 200, len(frames))]
    table = [(k, 255 - k, k // 2) for k in range(colours)]
    made = Image.open(io.BytesIO(encode_gif(frames, table, delays)))
    assert made.n_frames == len(frames) and made.info["loop"] == 0  # type: ignore[attr-defined]
    for k, (frame, delay) in enumerate(zip(frames, delays, strict=True)):
        made.seek(k)
        assert np.array_equal(np.asarray(made.convert("RGB")), np.array(table, np.uint8)[frame])
        assert made.info["duration"] == 10 * delay


# -- commands --------------------------------------------------------------------------------------------------------------------


def lawbook(*arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "lawbook", *arguments], cwd=cwd, capture_output=True, text=True, timeout=60, check=False
    )


def test_reports_pictures_and_comparisons_are_commands(runs: dict[str, RunFolder], tmp_path: Path) -> None:
    out = ["--out", str(runs["scripted"].path.parent)]
    made = lawbook("report", "scripted", "-o", "r.html", "--png", "p.png", "--gif", "g.gif", "--level", "1", *out, cwd=tmp_path)
    assert made.returncode == 0 and sorted(made.stdout.split()) == ["g.gif", "p.png", "r.html"]
    assert (tmp_path / "g.gif").read_bytes()[:6] == b"GIF89a" and (tmp_path / "p.png").read_bytes()[1:4] == b"PNG"
    assert lawbook("compare", "scripted", "random", *out, cwd=tmp_path).stdout == "compare.html\n"
    for arguments in (("report", "scripted", "--png", "x.png", "--level", "7"), ("compare", "scripted"), ("watch", "nothing")):
        refused = lawbook(*arguments, *out, cwd=tmp_path)
        assert refused.returncode == 2 and refused.stderr.count("\n") == 1


def test_watch_tells_an_ended_run_whole_and_ends(runs: dict[str, RunFolder], tmp_path: Path) -> None:
    told = lawbook("watch", "scripted", "--out", str(runs["scripted"].path.parent), cwd=tmp_path)
    assert told.returncode == 0 and not told.stderr
    lines = told.stdout.splitlines()
    assert lines[0].split()[0] == "0" and "won: The last level is completed." in lines[-1]
    assert sum("v1 accepted" in line for line in lines) == 1


def test_watch_follows_a_run_that_another_process_plays(tmp_path: Path) -> None:
    player = subprocess.Popen([sys.executable, "-m", "lawbook", "play", "demo:maze", "--quiet"], cwd=tmp_path)
    try:
        deadline = time.monotonic() + 30
        while not next(iter(list_runs(tmp_path / "runs")), None) and time.monotonic() < deadline:
            time.sleep(0.05)
        told = lawbook("watch", "last", cwd=tmp_path)
        assert told.returncode == 0 and told.stdout.rstrip().endswith("won: The last level is completed.")
    finally:
        assert player.wait(60) == 0


def test_watch_says_when_nobody_plays(host: Host, tmp_path: Path) -> None:
    with start_run(RunConfig(LAKE), tmp_path, host=host, mind=Scripted([TRUE])):
        pass
    told = lawbook("watch", "last", "--out", str(tmp_path), cwd=tmp_path)
    assert told.returncode == 0 and "nobody is playing this run; go on with: lawbook play --resume" in told.stderr


def test_view_says_where_serves_and_ends_at_an_interrupt(runs: dict[str, RunFolder], tmp_path: Path) -> None:
    command = [sys.executable, "-m", "lawbook", "view", str(runs["evil"].path), "--port", "0"]
    with subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None and process.stderr is not None
        found = re.fullmatch(r"viewer  http://127\.0\.0\.1:(\d+)/#run=evil\n", process.stdout.readline())
        assert found
        assert len(Client(int(found[1])).json("/api/runs")["runs"]) == len(runs)
        process.send_signal(signal.SIGINT)
        assert process.wait(10) == 0 and process.stderr.read() == ""


def test_bound_wider_it_asks_for_a_token(runs: dict[str, RunFolder], tmp_path: Path) -> None:
    command = [sys.executable, "-m", "lawbook", "view", str(runs["evil"].path.parent), "--port", "0", "--host", "0.0.0.0"]
    with subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        found = re.fullmatch(r"viewer  http://[^/]+:(\d+)/\?token=(\S{20,})\n", process.stdout.readline())
        assert found
        client = Client(int(found[1]))
        assert client.ask("/")[0] == 401 and client.ask(f"/?token={found[2]}")[0] == 303
        process.send_signal(signal.SIGINT)
        assert process.wait(10) == 0


def test_nothing_to_view_is_said_in_a_sentence(tmp_path: Path) -> None:
    for arguments in (("view", "nowhere"), ("view", ".", "--port", "99999"), ("view", ".", "--host", "203.0.113.7")):
        refused = lawbook(*arguments, cwd=tmp_path)
        assert refused.returncode == 2 and refused.stderr.startswith("lawbook: ") and refused.stderr.count("\n") == 1
