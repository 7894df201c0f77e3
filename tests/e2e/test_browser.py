"""The viewer in a real browser (Debian's Chromium): what a person does with it, by mouse and by keyboard alone, and how fast it is.

Without a Chromium on this machine everything here skips.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import long_run
import numpy as np
import pytest
from evil_minds import DOWN, TRUE
from lakes import LAKE
from minds import Scripted
from served import served

from lawbook.core.hypothesis import Decision, Proposal
from lawbook.ledger.events import EventKind
from lawbook.ledger.ledger import Ledger
from lawbook.runs.folder import RunConfig, RunFolder
from lawbook.runs.lifecycle import start_run
from lawbook.runs.loops.memento3 import play
from lawbook.sandbox.host import Host
from lawbook.view import html_report
from lawbook.view.palette import get_palette
from lawbook.view.run_index import RunIndex

pytestmark = pytest.mark.slow
sync_api = pytest.importorskip("playwright.sync_api", reason="Playwright is not installed: make setup installs it.")

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")

# Counts what is drawn and what shifts, from before the page's first script on.
MEASURE = """
window.seen = { drawn: [], shift: 0 };
const put = CanvasRenderingContext2D.prototype.putImageData;
CanvasRenderingContext2D.prototype.putImageData = function (...given) {
  put.apply(this, given);
  if (this.canvas.getAttribute("aria-label") === "Observed") seen.drawn.push(performance.now());
};
new PerformanceObserver((list) => {
  for (const entry of list.getEntries()) if (!entry.hadRecentInput) seen.shift += entry.value;
}).observe({ type: "layout-shift", buffered: true });
"""
PIXELS = """(label) => { const canvas = document.querySelector(`canvas[aria-label="${label}"]`);
  const copy = new OffscreenCanvas(canvas.width, canvas.height).getContext("2d", { willReadFrequently: true });
  copy.drawImage(canvas, 0, 0);
  return [canvas.height, canvas.width, Array.from(copy.getImageData(0, 0, canvas.width, canvas.height).data)]; }"""
NAMELESS = """() => [...document.querySelectorAll("a[href], button, input, canvas, svg[role=img], [role=region], nav, dialog")]
  .filter((one) => one.checkVisibility() && !(one.getAttribute("aria-label") || one.textContent.trim() || one.title
    || (one.id && document.querySelector(`label[for="${one.id}"]`))))
  .map((one) => one.outerHTML.slice(0, 120))"""


def works(path: str) -> bool:
    return subprocess.run([path, "--version"], capture_output=True, check=False).returncode == 0


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    found = next((path for name in NAMES if (path := shutil.which(name)) and works(path)), None)
    if found is None:
        pytest.skip("No Chromium here: scripts/browser installs Debian's where it may.")
    arguments = ["--disable-gpu", *(["--no-sandbox"] if os.geteuid() == 0 else [])]
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=found, args=arguments)
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def base(runs: dict[str, RunFolder]) -> Iterator[str]:
    with served(runs["maze"].path.parent) as port:
        yield f"http://127.0.0.1:{port}/"


@pytest.fixture
def page(browser: Any) -> Iterator[Any]:
    """A page that must make no complaint and ask nothing of anybody but the server it came from."""
    context = browser.new_context(viewport={"width": 1440, "height": 900})
    page = context.new_page()
    page.set_default_timeout(10_000)
    page.add_init_script(MEASURE)
    wrong: list[str] = []
    origins: set[str] = set()
    page.on("console", lambda message: wrong.append(message.text) if message.type in ("error", "warning") else None)
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.on("dialog", lambda dialog: wrong.append(f"a dialog: {dialog.message}"))
    page.on("request", lambda request: origins.add(re.sub(r"^(\w+://[^/]*).*", r"\1", request.url)))
    yield page
    assert not wrong
    assert len(origins - {"data:"}) <= 1, origins
    context.close()


def until(found: Callable[[], Any], what: str = "it") -> Any:
    """Wait for something to become true (a page's own policy forbids Playwright's way of waiting for an expression)."""
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline:
        if answer := found():
            return answer
        time.sleep(0.02)
    raise AssertionError(f"{what} did not happen")


def heading(page: Any) -> str:
    return str(page.locator(".facts h2").inner_text())


def at(page: Any, action: int) -> None:
    """Wait until the board of this action is shown, with all that is told of it."""
    until(lambda: heading(page).startswith(f"Action {action:,} " if action else "First sight"), f"action {action}")
    page.wait_for_timeout(150)


def shown(page: Any, label: str) -> np.ndarray:
    height, width, data = page.evaluate(PIXELS, label)
    return np.array(data, np.uint8).reshape(height, width, 4)[..., :3]


def drawn(folder: RunFolder, frame: str) -> np.ndarray:
    """What a board must show, pixel by pixel."""
    chronicle = RunIndex(folder.ledger)
    colours = np.array(get_palette(chronicle.opening.spec.palette).colours, np.uint8)
    pixels = colours[chronicle.ledger.read_frame(frame)]
    chronicle.close()
    return pixels


def test_where_there_is_a_browser_nothing_is_installed(browser: Any) -> None:
    began = time.monotonic()
    done = subprocess.run([Path(__file__).parents[2] / "scripts" / "browser"], capture_output=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"") and time.monotonic() - began < 10


# -- one run ---------------------------------------------------------------------------------------------------------------------


def test_the_board_is_scrubbed_and_shows_exactly_what_was_observed(page: Any, base: str, runs: dict[str, RunFolder]) -> None:
    chronicle = RunIndex(runs["maze"].ledger)
    chronicle.read_events()
    steps, misses = chronicle.steps, {miss.at for miss in chronicle.mismatches}
    page.goto(f"{base}#run=maze")
    at(page, 0)
    assert np.array_equal(shown(page, "Observed"), drawn(runs["maze"], steps[0].frames[-1]))
    box = page.locator(".slider").bounding_box()
    page.mouse.move(box["x"] + 7, box["y"] + 20)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + 20, steps=8)
    page.mouse.up()
    found = until(lambda: re.match(r"Action (\d+) of", heading(page)))
    middle = int(found[1])
    assert abs(middle - (len(steps) - 1) / 2) <= 1
    at(page, middle)
    until(lambda: np.array_equal(shown(page, "Observed"), drawn(runs["maze"], steps[middle].frames[-1])), "the board")
    calm = next(n for n in range(2, len(steps)) if n not in misses and steps[n].event.status.value == "running")  # type: ignore[union-attr]
    page.locator(".to").fill(str(calm))
    page.keyboard.press("Enter")
    at(page, calm)
    assert np.array_equal(shown(page, "Observed"), shown(page, "Predicted"))
    assert page.locator(".came").inner_text() == "Predicted exactly."
    chronicle.close()


def test_it_jumps_to_a_wrong_prediction_and_marks_the_cells(page: Any, base: str, runs: dict[str, RunFolder]) -> None:
    chronicle = RunIndex(runs["maze"].ledger)
    chronicle.read_events()
    miss = next(one for one in chronicle.mismatches if one.predicted and one.verdict.counterexample.cells)  # type: ignore[union-attr]
    page.goto(f"{base}#run=maze")
    at(page, 0)
    for place in sorted({one.at for one in chronicle.mismatches if 0 < one.at <= miss.at}):
        page.keyboard.press("m")
        at(page, place)
    assert miss.predicted and miss.verdict.counterexample
    predicted, observed = drawn(runs["maze"], miss.predicted), shown(page, "Observed")
    assert np.array_equal(shown(page, "Predicted"), predicted)
    assert int((predicted != observed).any(axis=-1).sum()) == miss.verdict.counterexample.cells
    assert page.locator(".came").inner_text() == f"{miss.verdict.counterexample.cells} cells other than predicted."
    assert page.locator(".over .wrong").count() == 2
    assert "wrong:" in page.locator(".happened").inner_text() and "accepted" in page.locator(".happened").inner_text()
    assert page.locator("#said").inner_text() != ""
    chronicle.close()


def test_it_plays_through_every_action_and_every_frame(page: Any, base: str, runs: dict[str, RunFolder]) -> None:
    page.goto(f"{base}#run=maze&step=3")
    at(page, 3)
    before = page.evaluate("seen.drawn.length")
    page.keyboard.press("+")
    page.keyboard.press(" ")
    until(lambda: heading(page).startswith("Action 9 "))
    page.keyboard.press(" ")
    assert page.locator(".play").get_attribute("aria-label") == "Play"
    chronicle = RunIndex(runs["maze"].ledger)
    chronicle.read_events(12)
    assert page.evaluate("seen.drawn.length") - before >= sum(len(set(step.frames)) for step in chronicle.steps[4:9]) - 2
    chronicle.close()


def test_the_frames_of_an_animation_are_seen_one_by_one(page: Any, browser: Any, tmp_path: Path) -> None:
    folder = long_run.write(tmp_path, 60, animation=3)
    with served(tmp_path) as port, Ledger.open(folder.ledger, readonly=True) as ledger:
        frames = [event.body["frames"] for event in ledger.read_events([EventKind.OBSERVE])]
        page.goto(f"http://127.0.0.1:{port}/#run={folder.path.name}&step=5&frame=1")
        at(page, 5)
        until(lambda: np.array_equal(shown(page, "Observed"), drawn(folder, frames[5][1])), "the frame of the address")
        for key, frame in ((".", 2), (",", 1), ("Shift+ArrowLeft", 0), ("Shift+ArrowRight", 1)):
            page.keyboard.press(key)
            until(lambda frame=frame: np.array_equal(shown(page, "Observed"), drawn(folder, frames[5][frame])), key)
        assert page.locator(".animation").inner_text().startswith("frame 2 of 4")


def test_the_plan_ahead_is_drawn_on_the_board(page: Any, base: str, runs: dict[str, RunFolder]) -> None:
    chronicle = RunIndex(runs["maze"].ledger)
    chronicle.read_events()
    plan = max(chronicle.plan_draws, key=lambda one: one.n_actions)
    chronicle.close()
    page.goto(f"{base}#run=maze&step={plan.at}")
    at(page, plan.at)
    length = plan.n_actions
    until(lambda: f"{length} actions" in page.locator(".next").inner_text(), "the plan in words")
    points = page.locator(".over .way").first.get_attribute("points").split(" ")
    assert len(points) == length + 1
    page.keyboard.press("ArrowRight")
    until(lambda: len(page.locator(".over .way").first.get_attribute("points").split(" ")) == length, "one step less")


def test_a_diff_is_opened_and_a_rule_leads_to_code_and_evidence(page: Any, base: str) -> None:
    page.goto(f"{base}#run=scripted&view=rulebook")
    page.locator(".proposals a").last.click()
    until(lambda: page.locator(".proposal h2").inner_text().startswith("Version"), "the version")
    gone = page.locator(".text:not(.prose) .line.gone .words").all_inner_texts()
    new = page.locator(".text:not(.prose) .line.new .words").all_inner_texts()
    assert gone == ["    return False  # R3"] and new == ["    return here(state) == 1  # R3"]
    assert page.locator(".prose .line.gone").count() and page.locator(".prose .line.new").count()
    page.get_by_role("button", name="About R3").click()
    cited = page.locator(".line.cited .words").all_inner_texts()
    assert cited and all("# R3" in line for line in cited)
    page.locator(".about a", has_text="wrong:").last.click()
    until(lambda: "Action" in heading(page) and page.locator(".came.bad").count(), "the evidence")
    page.go_back()
    until(lambda: page.locator(".proposal h2").count() and page.locator(".proposal h2").inner_text().startswith("Version"), "back")


def test_a_refusal_shows_its_counterexample_on_the_board(page: Any, base: str) -> None:
    page.goto(f"{base}#run=scripted&view=rulebook")
    page.locator(".proposals li.refused a").first.click()
    until(lambda: page.locator(".example canvas").count() and not page.locator(".example .bare").count(), "the board")
    assert "Trajectory" in page.locator(".refusal .why").inner_text()
    assert page.locator(".example figcaption a").get_attribute("href").startswith("#run=scripted&view=board&step=")


def test_population_and_numbers_are_drawn(page: Any, base: str, runs: dict[str, RunFolder]) -> None:
    page.goto(f"{base}#run=population&view=population")
    until(lambda: page.locator(".lane").count() == 2, "two lanes")
    assert page.get_by_role("img", name=re.compile("Member 1: .* falsified .*")).count() == 1
    with Ledger.open(runs["population"].ledger, readonly=True) as ledger:
        draws = sum(1 for _ in ledger.read_events([EventKind.DRAW]))
    until(lambda: page.locator(".class.drawn").count() == draws, "the draws")
    page.keyboard.press("4")
    until(lambda: page.locator(".chart svg").count() >= 3, "charts")
    assert page.locator("table").first.locator("tbody tr").count() == 1


def test_a_place_is_a_link_and_stays_one(page: Any, base: str) -> None:
    page.goto(f"{base}#run=maze&step=7")
    at(page, 7)
    page.keyboard.press("ArrowRight")
    until(lambda: "step=8" in page.evaluate("location.hash"), "the address")
    page.reload()
    at(page, 8)
    page.keyboard.press("2")
    until(lambda: page.locator(".proposals [aria-current]").count(), "the rulebook")
    assert "view=rulebook" in page.evaluate("location.hash")
    page.go_back()
    at(page, 8)


# -- the table -------------------------------------------------------------------------------------------------------------------


def test_the_table_is_filtered_sorted_and_opened_by_keyboard_alone(page: Any, base: str, runs: dict[str, RunFolder]) -> None:
    page.goto(base)
    rows = page.locator(".runs tbody tr")
    until(lambda: rows.count() == len(runs), "all runs")
    page.keyboard.press("/")
    page.keyboard.type("memento3 FROZEN")
    until(lambda: rows.count() == 3, "the filter")
    assert f"3 of {len(runs)} runs" in page.locator(".tools").inner_text()
    page.keyboard.press("Escape")
    actions = page.get_by_role("button", name="actions")
    actions.focus()
    page.keyboard.press("Enter")
    spent = [int(text.replace(",", "")) for text in page.locator(".runs tbody td:nth-child(7)").all_inner_texts()]
    assert spent == sorted(spent, reverse=True)
    assert page.locator("th[aria-sort=descending]").inner_text().startswith("actions")
    page.keyboard.press("Enter")
    assert page.locator("th[aria-sort=ascending]").count() == 1
    page.keyboard.press("ArrowDown")
    page.keyboard.press("x")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("x")
    assert page.locator(".compare").get_attribute("href").count("run=") == 2
    page.keyboard.press("Enter")
    until(lambda: page.locator(".facts").count(), "the run")
    page.keyboard.press("u")
    until(lambda: rows.count() == len(runs), "back")


def test_runs_are_compared_side_by_side(page: Any, base: str) -> None:
    page.goto(f"{base}compare?run=maze&run=population")
    assert page.locator("h1").inner_text() == f"demo:maze?seed=1 and {LAKE}"
    assert page.locator(".columns img").count() == 2 and page.locator("svg.chart polyline").count() == 2


def test_every_key_is_told_and_everything_has_a_name(page: Any, base: str) -> None:
    page.goto(f"{base}#run=population&step=5")
    at(page, 5)
    page.keyboard.press("?")
    assert page.get_by_role("dialog", name="Keys").is_visible()
    page.keyboard.press("Escape")
    assert not page.get_by_role("dialog", name="Keys").is_visible()
    for key in ("1", "2", "3", "4", "u"):
        page.keyboard.press(key)
        page.wait_for_timeout(300)
        assert page.evaluate(NAMELESS) == []
    assert page.evaluate("document.documentElement.lang") == "en"


def test_light_and_dark(page: Any, base: str) -> None:
    page.goto(f"{base}#run=maze")
    at(page, 0)

    def ground() -> int:
        return sum(map(int, re.findall(r"\d+", page.evaluate("getComputedStyle(document.body).backgroundColor"))[:3]))

    assert ground() > 600
    page.emulate_media(color_scheme="dark")
    assert ground() < 150
    page.keyboard.press("t")
    assert ground() > 600
    page.reload()
    at(page, 0)
    assert ground() > 600


# -- a run in progress, harm, files ----------------------------------------------------------------------------------------------


def test_a_run_that_is_being_played_is_followed(page: Any, host: Host, tmp_path: Path) -> None:
    with start_run(RunConfig(LAKE), tmp_path, host=host, mind=Scripted([TRUE])) as (folder, session), served(tmp_path) as port:
        session.propose(Proposal(Decision.REVISE_RULEBOOK, TRUE.rulebook, TRUE.files))
        page.goto(f"http://127.0.0.1:{port}/")
        until(lambda: page.locator(".state.live").count(), "playing")
        page.locator(".runs th a").click()
        at(page, 0)
        assert page.locator(".head .state").inner_text() == "playing"
        session.probe(DOWN, "what does it do?")
        at(page, 1)
        assert "what does it do?" in page.locator(".question").inner_text()
        page.keyboard.press("Home")
        at(page, 0)
        session.probe(DOWN, "and now?")
        until(lambda: page.locator(".slider").get_attribute("max") == "2", "the time line")
        assert heading(page).startswith("First sight"), "it must not be torn away from where somebody looks"
        page.keyboard.press("f")
        at(page, 2)
        play(session)
        until(lambda: page.locator(".head .state").inner_text() == "won", "the end")
        at(page, session.state.n_actions)
        assert np.array_equal(shown(page, "Observed"), drawn(folder, session.event_log.ledger.put_frame(session.record.last.frame)))  # type: ignore[union-attr]


@pytest.mark.parametrize("alone", [False, True], ids=["served", "report"])
def test_a_harmful_rulebook_is_text(page: Any, base: str, runs: dict[str, RunFolder], tmp_path: Path, alone: bool) -> None:
    address = f"{base}#run=evil&view=rulebook"
    if alone:
        with Ledger.open(runs["evil"].ledger, readonly=True) as ledger:
            (tmp_path / "report.html").write_text(html_report.render(ledger), encoding="utf-8")
        address = f"file://{tmp_path}/report.html#view=rulebook"
    page.goto(address)
    until(lambda: page.locator(".proposals a").count() >= 2, "the proposals")
    page.locator(".proposals a").last.click()
    until(lambda: "<script>alert(1)</script>" in page.locator(".prose").inner_text(), "the rulebook")
    words = page.locator(".proposal").inner_text()
    assert r"\u202egnirts" in words and "\u202e" not in words and "\x1b" not in words and "characters more" in words
    assert "<script>alert(2)</script>" in page.locator(".text:not(.prose)").last.inner_text()
    assert page.evaluate("document.querySelectorAll('#page script, #page style, #page iframe').length") == 0
    page.keyboard.press("1")
    page.keyboard.press("m")
    until(lambda: "<script>alert(1)</script>" in page.locator(".then").inner_text(), "the rulebook then")
    assert page.evaluate("document.documentElement.scrollWidth") <= 1440


def test_a_report_is_the_viewer_in_one_file(page: Any, runs: dict[str, RunFolder], tmp_path: Path) -> None:
    with Ledger.open(runs["maze"].ledger, readonly=True) as ledger:
        (tmp_path / "report.html").write_text(html_report.render(ledger), encoding="utf-8")
    page.goto(f"file://{tmp_path}/report.html#step=4")
    at(page, 4)
    chronicle = RunIndex(runs["maze"].ledger)
    chronicle.read_events()
    for step in (4, 5, 6):
        at(page, step)
        assert np.array_equal(shown(page, "Observed"), drawn(runs["maze"], chronicle.steps[step].frames[-1]))
        page.keyboard.press("ArrowRight")
    chronicle.close()
    for key, sign in (("2", ".line .name"), ("3", ".lane"), ("4", ".chart svg"), ("1", ".board canvas")):
        page.keyboard.press(key)
        until(lambda sign=sign: page.locator(sign).count(), sign)


# -- how fast --------------------------------------------------------------------------------------------------------------------


@pytest.mark.timing
def test_a_long_run_opens_at_once_and_is_scrubbed_smoothly(page: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """5,000 actions of 64 x 64, in software rendering. Bars: first board in 1 s (the best of three openings, the first of them
    with nothing read yet), 30 boards a second while the slider is dragged over the whole run, nothing shifts."""
    folder = long_run.write(tmp_path, 5000)
    sizes: list[int] = []
    page.on("response", lambda answer: sizes.append(int(answer.headers.get("content-length", 0)) * ("/api/" in answer.url)))
    with served(tmp_path) as port:
        opened = []
        for _ in range(3):
            page.goto("about:blank")
            page.goto(f"http://127.0.0.1:{port}/#run={folder.path.name}")
            opened.append(until(lambda: page.evaluate("seen.drawn[0]"), "the first board") / 1000)
            until(lambda: page.locator(".slider").get_attribute("max") == "5000", "the time line")
        page.wait_for_timeout(500)
        shift, asked = page.evaluate("seen.shift"), sum(sizes) / 3
        box = page.locator(".slider").bounding_box()
        page.mouse.move(box["x"] + 8, box["y"] + 20)
        page.mouse.down()
        before, began = page.evaluate("seen.drawn.length"), time.monotonic()
        for k in range(1, 151):
            page.mouse.move(box["x"] + 8 + (box["width"] - 9) * k / 150, box["y"] + 20)
        lasted = time.monotonic() - began
        page.mouse.up()
        boards = page.evaluate("seen.drawn.length") - before
        at(page, 5000)
    with capsys.disabled():
        print(
            f"\n5,000 actions: first board after {', '.join(f'{one:.2f}' for one in opened)} s; scrubbed at {boards / lasted:.0f} "
            f"boards a second ({150 / lasted:.0f} moves); {asked / 1000:.0f} kB asked for to begin with; layout shift {shift:.4f}"
        )
    assert min(opened) < 1
    assert boards / lasted >= min(30, 0.8 * 150 / lasted)
    assert asked < 200_000 and shift < 0.01
