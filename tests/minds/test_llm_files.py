"""A mind by hand: requests as files, answers as files, whoever writes them, however slowly."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from lamps import CLICKS, TRUE, WORLD
from scripted_model import FAITHFUL, RETAIN, book, program

from lawbook.cli.main import main
from lawbook.errors import UsageError
from lawbook.minds.llm.file_queue import FileQueueModel, make_file_queue_model
from lawbook.minds.llm.model import ImagePart, ModelError, Part, Request, Turn
from lawbook.runs.folder import list_runs

ASKED = Request("revise", "You are.", (Part("world", "A world.", stable=True), Part("task", "Do it.")), {"type": "object"})


class Answering(threading.Thread):
    """Somebody who looks into a folder and answers what is asked there."""

    def __init__(self, folder: Path, write: Callable[[Path, str], None]) -> None:
        super().__init__(daemon=True)
        self.folder, self.write, self.done, self.seen = folder, write, False, []

    def run(self) -> None:
        while not self.done:
            for path in sorted(self.folder.glob("*.request.md")):
                stem = path.name.removesuffix(".request.md")
                if stem not in self.seen:
                    self.seen.append(stem)
                    self.write(self.folder / stem, stem.partition("-")[2])
            time.sleep(0.02)

    def __enter__(self) -> Answering:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.done = True
        self.join()


def test_a_world_is_won_through_files(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    answers = {"revise": book(TRUE), "compile": program(TRUE), "judge": FAITHFUL, "reflect": RETAIN, "simplify": "RETAIN"}

    def write(stem: Path, op: str) -> None:
        schema = json.loads(stem.with_name(f"{stem.name}.schema.json").read_text())
        assert schema["type"] == "object"
        part = stem.with_name("part")
        part.write_text(answers[op])
        part.rename(stem.with_name(f"{stem.name}.answer.md"))

    folder = tmp_path / "by hand"
    with Answering(folder, write) as answering:
        code = main(["play", WORLD, "--mind", f"files:{folder}?timeout=60", "--out", str(tmp_path / "runs"), "--plain", "--images"])
    told = capsys.readouterr()
    assert code == 0, told.err
    assert answering.seen[:3] == ["001-revise", "002-compile", "003-judge"]
    waited = [line for line in told.err.splitlines() if "waiting for" in line]
    assert waited[0] == f"lawbook: waiting for {folder}/001-revise.answer.md (or .json, .txt)"
    assert (folder / "001-revise.1.png").read_bytes().startswith(b"\x89PNG")
    request = (folder / "002-compile.request.md").read_text()
    assert request.startswith("You are a scientist") and TRUE.rulebook in request and "def initial_state" not in request
    assert f"{sum(CLICKS)} " in told.out and len(list(list_runs(tmp_path / "runs"))) == 1


def test_an_answer_is_read_when_it_is_whole(tmp_path: Path) -> None:
    model = FileQueueModel(tmp_path, 30, notify=lambda _: None)

    def slowly(stem: Path, op: str) -> None:
        with stem.with_name(f"{stem.name}.answer.json").open("w") as file:
            for piece in ("", '{"files": ', "[]", ', "edits": []}'):
                file.write(piece)
                file.flush()
                time.sleep(0.3)

    with Answering(tmp_path, slowly):
        reply = model.ask(ASKED)
    assert json.loads(reply.text) == {"files": [], "edits": []} and reply.receipt["file"] == "001-revise.answer.json"


def test_what_was_asked_before_a_crash_is_not_asked_again(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=r"No answer to .*001-revise.request.md came within 0.1 s; write it, then resume"):
        FileQueueModel(tmp_path, 0.1, notify=lambda _: None).ask(ASKED)
    (tmp_path / "001-revise.answer.txt").write_text("here")
    again = FileQueueModel(tmp_path, 5, notify=lambda _: None)
    assert again.ask(ASKED).text == "here"
    with pytest.raises(ModelError, match="002-revise"):  # the same question again, in earnest
        FileQueueModel.ask(_patient(again, 0.1), ASKED)
    other = Request("revise", "You are.", ASKED.parts, turns=(Turn("here", "No."),), images=(ImagePart("Look:", b"png"),))
    with pytest.raises(ModelError, match="003-revise"):
        FileQueueModel(tmp_path, 0.1, notify=lambda _: None).ask(other)
    assert "--- you answered\nhere" in (tmp_path / "003-revise.request.md").read_text()
    assert (tmp_path / "003-revise.1.png").read_bytes() == b"png"


def _patient(model: FileQueueModel, timeout: float) -> FileQueueModel:
    model.timeout = timeout
    return model


@pytest.mark.parametrize(
    ("argument", "words"),
    [
        ("", "needs a folder"),
        ("x?wait=3", "no option 'wait'"),
        ("x?timeout=soon", "a number of seconds"),
        (__file__, "is no folder"),
    ],
)
def test_a_wrong_name_is_one_sentence(argument: str, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        make_file_queue_model(argument)
