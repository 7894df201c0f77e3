"""The memory of versions: addressable, repeatable, rebuildable, and nobody's configuration but ours."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from lawbook.core.hypothesis import ENGINE, Hypothesis
from lawbook.errors import LawbookError, UsageError
from lawbook.ledger.git_versions import AcceptedVersion, GitVersions

ONE = Hypothesis("R1 walls stop.\n", {ENGINE: "import helper\n", "helper.py": "WALL = 1\n"})
TWO = Hypothesis("R1 walls stop.\r\nR2 doors öffnen.", {ENGINE: "X = 2"})
STORY = [
    AcceptedVersion(0, 1, ONE, "first\n\nwith a body", 1000.25),
    AcceptedVersion(1, 1, TWO, "another member", 1001.0),
    AcceptedVersion(0, 2, TWO, "simpler", 1001.5),
    AcceptedVersion(0, 3, ONE, "back again", 1002.0),
]


def saved(path: Path) -> GitVersions:
    memory = GitVersions(path)
    for one in STORY:
        memory.save(one.member, one.hypothesis, one.iteration, one.message, one.time)
    return memory


def git(path: Path, *arguments: str) -> str:
    """Git as a person would call it in the folder."""
    return subprocess.run(["git", *arguments], cwd=path, check=True, capture_output=True, text=True).stdout


def test_every_version_stays_addressable(tmp_path: Path) -> None:
    memory = saved(tmp_path / "memory")
    for one in STORY:
        assert memory.load(one.tag) == one.hypothesis
    log = memory.log()
    assert [(entry.tag, entry.time, entry.message) for entry in log] == [(s.tag, int(s.time), s.message) for s in STORY]
    assert len({entry.commit for entry in log}) == 4


def test_the_folder_shows_what_was_accepted_last(tmp_path: Path) -> None:
    memory = GitVersions(tmp_path / "memory")
    memory.save(0, ONE, 1, "one", 1.0)
    assert (tmp_path / "memory/m0/helper.py").read_text() == "WALL = 1\n"
    memory.save(0, TWO, 2, "two", 2.0)
    assert sorted(file.name for file in (tmp_path / "memory/m0").iterdir()) == ["world_model.md", ENGINE]
    assert (tmp_path / "memory/m0/world_model.md").read_bytes() == TWO.rulebook.encode()
    memory.save(1, ONE, 1, "other", 3.0)
    assert sorted(folder.name for folder in (tmp_path / "memory").iterdir()) == [".git", "m0", "m1"]
    (tmp_path / "memory/m0" / ENGINE).write_text("tampered")
    memory.save(1, TWO, 2, "other", 4.0)
    assert (tmp_path / "memory/m0" / ENGINE).read_text() == "X = 2"
    assert git(tmp_path / "memory", "status", "--porcelain") == ""
    assert git(tmp_path / "memory", "log", "--format=%s").split() == ["other", "other", "two", "one"]


def test_diff(tmp_path: Path) -> None:
    memory = saved(tmp_path / "memory")
    text = memory.diff("m0-i1", "m0-i2")
    assert "+R2 doors öffnen." in text and "-WALL = 1" in text and "deleted file" in text
    assert memory.diff("m0-i1", "m0-i3") == "" == memory.diff("m0-i2", "m1-i1")


def test_unknown_versions_and_options_are_refused(tmp_path: Path) -> None:
    memory = saved(tmp_path / "memory")
    for tag in ("m0-i9", "m0", "main", "--output=x", "HEAD", "m0-i1^", "m0-i1\n", ""):
        with pytest.raises(UsageError, match="There is no version"):
            memory.load(tag)
        with pytest.raises(UsageError, match="There is no version"):
            memory.diff("m0-i1", tag)


def test_nothing_saved_is_an_empty_history(tmp_path: Path) -> None:
    memory = GitVersions(tmp_path / "memory")
    assert memory.log() == [] and not (tmp_path / "memory").exists()
    assert GitVersions.rebuild(memory.path, []).log() == []
    memory.save(0, ONE, 1, "one", 1.0)
    assert len(memory.log()) == 1


def test_saving_again_is_the_same_commit(tmp_path: Path) -> None:
    memory = saved(tmp_path / "memory")
    before = memory.log()
    for entry, one in zip(before, STORY, strict=True):
        assert memory.save(one.member, one.hypothesis, one.iteration, one.message, one.time) == entry.commit
    assert memory.log() == before
    assert (tmp_path / "memory/m0/helper.py").exists(), "an old version saved again does not become the present one"
    with pytest.raises(LawbookError, match="another m0-i1 than the ledger"):
        memory.save(0, TWO, 1, "forged", 1000.25)


def test_the_same_hypothesis_accepted_again_is_a_version_of_its_own(tmp_path: Path) -> None:
    memory = saved(tmp_path / "memory")
    memory.save(0, ONE, 4, "still", 1003.0)
    assert [entry.tag for entry in memory.log()][-2:] == ["m0-i3", "m0-i4"]


def test_a_crash_between_tag_and_branch_is_finished(tmp_path: Path) -> None:
    memory = saved(tmp_path / "memory")
    whole = memory.log()
    git(tmp_path / "memory", "reset", "--quiet", "--hard", "m0-i2")  # as after a crash: the tag m0-i3 is there, nothing else
    last = STORY[-1]
    assert memory.save(last.member, last.hypothesis, last.iteration, last.message, last.time) == whole[-1].commit
    assert (tmp_path / "memory/m0/helper.py").exists()
    memory.save(0, TWO, 4, "on", 1003.0)
    assert [entry.tag for entry in memory.log()] == ["m0-i1", "m1-i1", "m0-i2", "m0-i3", "m0-i4"]


def test_locks_of_a_dead_git_are_removed(tmp_path: Path) -> None:
    memory = saved(tmp_path / "memory")
    for lock in ("index.lock", "HEAD.lock", "refs/heads/main.lock", "refs/tags/m0-i4.lock"):
        (tmp_path / "memory/.git" / lock).touch()
    memory.save(0, TWO, 4, "on", 1003.0)
    assert memory.load("m0-i4") == TWO and not [*(tmp_path / "memory/.git").rglob("*.lock")]
    assert git(tmp_path / "memory", "rev-parse", "main", "m0-i4").split()[0] == memory.log()[-1].commit


def test_a_rebuild_gives_the_same_ids(tmp_path: Path) -> None:
    memory = saved(tmp_path / "memory")
    before = memory.log()
    assert GitVersions.rebuild(memory.path, STORY).log() == before == memory.log()
    shutil.rmtree(tmp_path / "memory/.git")
    (tmp_path / "memory/.git").write_text("corrupted")
    with pytest.raises(LawbookError, match="can be rebuilt from the ledger"):
        memory.log()
    memory = GitVersions.rebuild(memory.path, STORY)
    assert memory.log() == before and memory.load("m0-i1") == ONE
    assert sorted(folder.name for folder in tmp_path.iterdir()) == ["memory"]
    assert git(tmp_path / "memory", "fsck", "--strict", "--full") == ""
    moved = (tmp_path / "memory").rename(tmp_path / "elsewhere")
    assert GitVersions(moved).load("m0-i2") == TWO and git(moved, "status", "--porcelain") == ""


def test_texts_git_might_trip_over(tmp_path: Path) -> None:
    memory = GitVersions(tmp_path / "memory")
    hostile = Hypothesis("data 3\ndone\n\0\r\n\ud800 alone", {ENGINE: "", "a.py": "commit refs/heads/evil\n"})
    message = "done\nfrom refs/heads/x\n\0 and a \ud800"
    memory.save(0, hostile, 1, message, 1.9)
    memory.save(0, hostile, 2, "", 1.9)
    assert memory.load("m0-i1") == hostile
    assert [entry.message for entry in memory.log()] == ["done\nfrom refs/heads/x\n  and a ?", ""]
    assert git(tmp_path / "memory", "branch", "--format=%(refname)") == "refs/heads/main\n"


def test_nobody_elses_configuration_plays_a_part(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plain = [entry.commit for entry in saved(tmp_path / "plain").log()]
    home = tmp_path / "home"
    (home / ".config/git").mkdir(parents=True)
    hook = home / "hooks/post-checkout"
    hook.parent.mkdir()
    hook.write_text(f"#!/bin/sh\ntouch {tmp_path}/ran\n")
    hook.chmod(0o755)
    (home / ".gitconfig").write_text(f"[core]\n\thooksPath = {hook.parent}\n\tautocrlf = true\n[user]\n\tname = Somebody\n")
    (home / ".config/git/attributes").write_text("*.md export-ignore\n")
    outer = tmp_path / "outer"
    subprocess.run(["git", "init", "--quiet", outer], check=True)
    for name, value in {
        "HOME": str(home),
        "GIT_AUTHOR_NAME": "Somebody",
        "GIT_DIR": str(outer / ".git"),
        "GIT_INDEX_FILE": str(tmp_path / "index"),
        "LC_ALL": "de_DE.UTF-8",
        "TZ": "Asia/Tokyo",
    }.items():
        monkeypatch.setenv(name, value)
    memory = saved(outer / "memory")
    assert [entry.commit for entry in memory.log()] == plain
    assert memory.load("m0-i2") == TWO
    assert not (tmp_path / "ran").exists() and not (tmp_path / "index").exists()
    assert list((outer / ".git/refs/heads").iterdir()) == []


def test_hooks_inside_the_repository_are_not_run(tmp_path: Path) -> None:
    memory = saved(tmp_path / "memory")
    hook = tmp_path / "memory/.git/hooks/reference-transaction"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text(f"#!/bin/sh\ntouch {tmp_path}/ran\n")
    hook.chmod(0o755)
    memory.save(0, TWO, 4, "on", 1003.0)
    assert not (tmp_path / "ran").exists()


def test_missing_git_is_a_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", os.fspath(tmp_path))
    with pytest.raises(UsageError, match="git, which is not installed"):
        GitVersions(tmp_path / "memory")
