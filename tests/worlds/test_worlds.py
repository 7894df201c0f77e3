"""The world's own process, addresses, and Gymnasium: real processes, real environments."""

import os
import signal
import subprocess
import sys
import time
from collections import deque
from pathlib import Path

import numpy as np
import odd_worlds
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lawbook.core.record import RESET, Action, Status
from lawbook.errors import RefusedError, UsageError, WorldError
from lawbook.worlds import gym_grids
from lawbook.worlds.address import WorldAddress, load_world_source, make_world
from lawbook.worlds.process import WorldProcess

HERE = str(Path(__file__).parents[1] / "support")


def odd(name: str) -> str:
    return f"py:odd_worlds:SOURCE/{name}"


def gone(pid: int) -> bool:
    """Whether the process has ended (a zombie that nobody reaped has)."""
    until = time.monotonic() + 3
    while time.monotonic() < until:
        try:
            if Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z":
                return True
        except (FileNotFoundError, ProcessLookupError):
            return True
        time.sleep(0.02)
    return False


# Addresses


@given(
    name=st.from_regex(r"[A-Za-z0-9_:/.-]+", fullmatch=True),
    options=st.dictionaries(
        st.from_regex(r"[A-Za-z_][A-Za-z0-9_.-]{0,8}", fullmatch=True),
        st.from_regex(r"[A-Za-z0-9_=./-]+", fullmatch=True),
        max_size=4,
    ),
)
def test_an_address_reads_back_as_it_was_written(name, options):
    address = WorldAddress("demo", name, options)
    assert WorldAddress.parse(str(address)) == address


MALFORMED = [
    "",
    "maze",
    ":maze",
    "demo:",
    "demo: maze",
    "DEMO:maze",
    "demo:?seed=1",
    "demo:maze?",
    "demo:maze?seed",
    "demo:maze?seed=",
]
MALFORMED += ["demo:maze?=3", "demo:maze?seed=1&seed=2", "demo:maze?seed=1&&a=2"]


@pytest.mark.parametrize("text", MALFORMED)
def test_a_malformed_address_is_refused_with_a_sentence(text):
    with pytest.raises(UsageError, match=r".{20,}\.$"):
        WorldAddress.parse(text)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("dmo:maze", "Did you mean 'demo'"),
        ("demo:maz", "Did you mean 'maze'"),
        ("gym:FrozenLake", "Did you mean 'FrozenLake-v1'"),
        ("demo:maze?sed=1", "Did you mean 'seed'"),
        ("demo:maze?seed=x", "whole number"),
        ("demo:maze?seed=-1", "whole number"),
        ("gym:FrozenLake-v1?is_slippery=maybe", "true or false"),
        ("gym:FrozenLake-v1?size=1&map_seed=1", "from 2 to 32"),
        ("gym:FrozenLake-v1?size=5", "add map_seed"),
        ("gym:FrozenLake-v1?p=0.7", "add map_seed"),
        ("gym:FrozenLake-v1?map_seed=1&p=0.1", "number from 0.6 to 1"),
        ("gym:FrozenLake-v1?map_seed=1&p=nan", "number from 0.6 to 1"),
        ("gym:FrozenLake-v1?desc=SG", "has no option 'desc'"),
        ("py:odd_worlds/plain", "write py:"),
        ("py:no_such_module:SOURCE/plain", "could not be imported"),
        ("py:odd_worlds:NOTHING/plain", "has no NOTHING"),
        ("py:odd_worlds:SHAPE/plain", "makes no worlds"),
        (odd("refuses"), "takes no guests"),
    ],
)
def test_wrong_use_arrives_as_a_sentence_from_the_worlds_own_process(text, says):
    with pytest.raises(UsageError, match=says):
        WorldProcess(text)


def test_a_missing_package_names_the_extra_that_brings_it(tmp_path, monkeypatch):
    (tmp_path / "gymnasium.py").write_text("raise ModuleNotFoundError('No module', name='gymnasium')")
    monkeypatch.syspath_prepend(tmp_path)  # the child imports what we would import
    with pytest.raises(UsageError, match=r"gymnasium.*pip install 'lawbook\[gym\]'"):
        WorldProcess("gym:FrozenLake-v1")


def test_the_run_process_loads_no_environment():
    code = (
        "import sys; from lawbook.worlds.process import WorldProcess; from lawbook.worlds.address import load_world_source\n"
        "for scheme in ('demo', 'gym'): list(load_world_source(scheme).names())\n"
        "WorldProcess('demo:maze').close()\n"
        "sys.exit(any(name in sys.modules for name in ('arcengine', 'gymnasium', 'pydantic')))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


@pytest.mark.parametrize("scheme", ["demo", "gym"])
def test_every_example_that_is_listed_can_be_played(scheme):
    for name, about in load_world_source(scheme).names():
        world = make_world(WorldAddress.parse(f"{scheme}:{name}"))
        assert about and world.reset().status is Status.RUNNING


# What may be sent


def test_a_refused_action_never_reaches_the_world():
    with WorldProcess(odd("plain")) as world:

        def refuse(action: Action, says: str) -> None:
            with pytest.raises(RefusedError, match=says) as caught:
                world.step(action)
            assert "odd" not in str(caught.value)  # minds may read it

        refuse(Action(1), "reset it first")
        world.reset()
        for action, says in [
            (RESET, "reset instead"),
            (Action(9), "no action 9"),
            (Action(2), "not available now"),
            (Action(6), "is a click"),
            (Action(6, 3), "is a click"),
            (Action(1, 0, 0), "without x and y"),
            (Action(6, 6, 0), "x is 0 to 5"),
            (Action(6, 0, 4), "y is 0 to 3"),
            (Action(6, -1, 0), "x is 0 to 5"),
            (Action(True), "whole numbers"),
            (Action(6, 1.0, 2), "whole numbers"),  # type: ignore[arg-type]
        ]:
            refuse(action, says)
        seen = world.step(Action(6, 5, 3))
        assert seen.frame[0].tolist() == [1, 1, 5, 3, 0, 0]  # one step and one reset are all that it was sent
        for end, says in [(3, "only a reset"), (4, "only a reset")]:
            sent = world.step(Action(end)).frame[0, 0]
            refuse(Action(1), says)
            world.reset()
            assert world.step(Action(1)).frame[0, 0] == sent + 1
        world.step(Action(5))
        assert world.step(Action(1)).level == 1  # a completed level goes on
        sent = world.step(Action(5)).frame[0, 0]
        refuse(Action(1), "last level is completed")
        world.reset()
        assert world.step(Action(1)).frame[0, 0] == sent + 1


def test_frames_are_read_only_and_private():
    with WorldProcess(odd("plain")) as world:
        first = world.reset()
        held = first.frame.copy()
        second = world.step(Action(1))  # the world draws over the array it returned
        assert np.array_equal(first.frame, held) and not np.array_equal(first.frame, second.frame)
        for frame in (first.frame, second.frame):
            assert frame.dtype == np.uint8 and frame.shape == odd_worlds.SHAPE
            with pytest.raises(ValueError, match="read-only"):
                frame[0, 0] = 1
            with pytest.raises(ValueError, match="WRITEABLE"):
                frame.flags.writeable = True


# Worlds that fail


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("dies", "exit code 7 at action 1.*farewell"),
        ("raises", "KeyError"),
        ("garbles", "no message"),
        ("shape", "6 x 4 where 4 x 6"),
        ("shapes", "one shape"),
        ("no-frames", "at least one frame"),
        ("fractions", "0 to 255"),
        ("beyond-255", "0 to 255"),
        ("three-dimensions", "H x W"),
        ("status", "splendid"),
        ("level", "from level 0 to 1 and called that running"),
        ("completed", "from level 0 to 0 and called that completed"),
        ("available", "99"),
    ],
)
def test_a_world_that_breaks_is_a_sentence_and_ends(name, says):
    with WorldProcess(odd(name)) as world:
        world.reset()
        with pytest.raises(WorldError, match=says) as caught:
            world.step(Action(1))
        assert "\n" not in str(caught.value)
        assert gone(world.pid)
        with pytest.raises(WorldError, match="has ended"):
            world.step(Action(1))


def test_a_world_that_cannot_begin_is_a_sentence():
    with pytest.raises(WorldError, match="no fuel"):
        WorldProcess(odd("explodes"))
    with pytest.raises(WorldError, match="describes itself wrongly"):
        WorldProcess(odd("bad-spec"))
    with pytest.raises(UsageError, match="a_module_that_nobody_has"):
        WorldProcess(odd("needs"))


@pytest.mark.timing
@pytest.mark.parametrize(("name", "at"), [("hangs", "action 1"), ("hangs-at-reset", "reset")])
def test_a_hanging_world_is_ended_within_the_limit(name, at):
    world = WorldProcess(odd(name), seconds=5)
    world._seconds = 0.3  # starting Python may take longer than that
    began = time.monotonic()
    with pytest.raises(WorldError, match=f"no answer within 0.3 s at {at}.*now I sleep"):
        world.reset()
        world.step(Action(1))
    assert time.monotonic() - began < 1.5
    assert gone(world.pid)


def test_a_killed_world_is_noticed():
    with WorldProcess("demo:maze") as world:
        world.reset()
        os.kill(world.pid, signal.SIGKILL)
        with pytest.raises(WorldError, match="killed by SIGKILL"):
            world.step(Action(1))


def test_noise_disturbs_nothing(capfd):
    with WorldProcess(odd("noisy")) as world:
        world.reset()
        for n in range(1, 6):
            assert world.step(Action(1)).frame[0, 0] == n
    assert capfd.readouterr() == ("", "")


def test_closing_ends_it_for_sure_and_whatever_it_started():
    world = WorldProcess(odd("parent"))
    rows = world.reset().frame[1:3]
    child = int("".join(map(str, rows.ravel())))
    assert not gone_now(child)
    world.close()
    world.close()
    assert gone(world.pid) and gone(child)


def gone_now(pid: int) -> bool:
    return not Path(f"/proc/{pid}").exists()


def test_it_has_another_session_no_keys_and_only_what_it_is_given(monkeypatch):
    monkeypatch.setenv("ANTHROPIC_API_KEY", "secret")
    monkeypatch.setenv("SOME_TOKEN", "secret")
    monkeypatch.setenv("ONLY_RESET_LEVELS", "true")
    with WorldProcess(odd("environment"), environment={"LAWBOOK_ODD": "1"}) as world:
        assert world.reset().frame[1, :2].tolist() == [0, 1]
        assert os.getsid(world.pid) != os.getsid(0)  # Ctrl-C in the terminal does not reach it
        names = Path(f"/proc/{world.pid}/environ").read_text()
        assert "secret" not in names and "ONLY_RESET_LEVELS" not in names


def test_it_dies_with_us():
    code = (
        f"import sys; sys.path.append({HERE!r})\n"
        "from lawbook.worlds.process import WorldProcess; from lawbook.core.record import Action\n"
        f"world = WorldProcess({odd('hangs')!r}); world.reset(); print(world.pid, flush=True); world.step(Action(1))"
    )
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE) as ours:
        assert ours.stdout is not None
        pid = int(ours.stdout.readline())
        assert not gone_now(pid)
        time.sleep(0.2)  # the world is asleep inside its step: it reads nothing that would tell it
        ours.kill()
    assert gone(pid)


def test_an_interrupted_answer_is_never_taken_for_the_next(monkeypatch):
    def interrupt(*_):
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, interrupt)
    try:
        with WorldProcess(odd("hangs")) as world:
            world.reset()
            signal.setitimer(signal.ITIMER_REAL, 0.2)
            with pytest.raises(KeyboardInterrupt):
                world.step(Action(1))
            with pytest.raises(WorldError, match="has ended"):
                world.reset()
    finally:
        signal.signal(signal.SIGALRM, before)


# One history, one outcome


@pytest.mark.parametrize("text", ["demo:maze", "demo:twins?seed=5", "gym:FrozenLake-v1?map_seed=7"])
def test_one_history_has_one_outcome_and_a_reset_repeats(text):
    rng = np.random.default_rng(0)
    plan = [Action(int(a)) for a in rng.integers(1, 5, size=60)]

    def play(world: WorldProcess) -> list[tuple[Status, int, tuple[int, ...], list[bytes]]]:
        seen = [world.reset()]
        for action in plan:
            seen.append(world.step(action))
            if seen[-1].status in (Status.OVER, Status.TRUNCATED):
                seen.append(world.reset())
            elif seen[-1].level == world.spec.levels:
                break
        return [(o.status, o.level, o.available, [frame.tobytes() for frame in o.frames]) for o in seen]

    with WorldProcess(text) as one, WorldProcess(text) as two:
        history = play(one)
        assert play(two) == history
        assert len({frames[-1] for *_, frames in history}) > 3  # it did move
        for world in (one, two):  # twice: with no action since the level began, even a game of many levels begins anew
            world.reset()
            assert world.reset().frame.tobytes() == history[0][3][-1]


# Gymnasium


def way(grid: np.ndarray) -> list[int] | None:
    """Shortest actions over the integer grid alone (our ids: left 1, down 2, right 3, up 4), without the world's own search."""
    start = tuple(int(n) for n in np.argwhere(grid == gym_grids.AVATAR)[0])
    ways: dict[tuple[int, int], list[int]] = {start: []}
    queue = deque([start])
    while queue:
        row, column = queue.popleft()
        for number, (down, right) in {1: (0, -1), 2: (1, 0), 3: (0, 1), 4: (-1, 0)}.items():
            new = (row + down, column + right)
            if new in ways or not (0 <= new[0] < len(grid) and 0 <= new[1] < len(grid)) or grid[new] == gym_grids.HOLE:
                continue
            ways[new] = [*ways[(row, column)], number]
            if grid[new] == gym_grids.GOAL:
                return ways[new]
            queue.append(new)
    return None


@pytest.mark.parametrize("size", [4, 8])
def test_fifty_lakes_can_be_crossed_and_the_baseline_is_the_shortest_way(size):
    for seed in range(50):
        world = make_world(WorldAddress.parse(f"gym:FrozenLake-v1?map_seed={seed}&size={size}"))
        first = world.reset()
        plan = way(first.frame)
        assert plan is not None and world.spec.baselines == (len(plan),) and world.spec.baseline == "optimal"
        for number in plan[:-1]:
            seen = world.step(Action(number))
            assert seen.status is Status.RUNNING and seen.level == 0
        last = world.step(Action(plan[-1]))
        assert last.status is Status.COMPLETED and last.level == 1 and last.frame[-1, -1] == gym_grids.AVATAR


def test_a_lake_shows_its_cells_and_ends_in_its_own_ways():
    world = make_world(WorldAddress.parse("gym:FrozenLake-v1?size=4"))  # Gymnasium's own map: SFFF FHFH FFFH HFFG
    first = world.reset()
    assert first.frame.tolist() == [[4, 0, 0, 0], [0, 1, 0, 1], [0, 0, 0, 1], [1, 0, 0, 2]]
    assert world.step(Action(3)).frame[0].tolist() == [3, 4, 0, 0]  # gym action 2, right; the start shows once left
    fallen = world.step(Action(2))
    assert fallen.status is Status.OVER and fallen.level == 0 and fallen.frame[1, 1] == gym_grids.AVATAR
    assert np.array_equal(world.reset().frame, first.frame)
    seen = [world.step(Action(1)) for _ in range(100)]  # 25 actions a side
    assert {o.status for o in seen[:-1]} == {Status.RUNNING} and seen[-1].status is Status.TRUNCATED


def test_a_slippery_lake_repeats_its_seed_and_claims_no_baseline():
    world = make_world(WorldAddress.parse("gym:FrozenLake-v1?is_slippery=true"))
    assert world.spec.baselines == (None,)

    def slide() -> list[bytes]:
        world.reset()
        seen = []
        while not seen or seen[-1].status is Status.RUNNING:
            seen.append(world.step(Action(3)))
        return [o.frame.tobytes() for o in seen]

    assert slide() == slide()


LAKES = """
from lawbook.worlds.gym_grids import SOURCE, register

register("CliffWalking-v1",
         view=lambda env, state: [[9 if 12 * row + column == state else 0 for column in range(12)] for row in range(4)],
         completed=lambda env, state, reward: state == 47)
"""


def test_a_view_and_a_rule_from_outside_in_five_lines(tmp_path, monkeypatch):
    (tmp_path / "my_cliffs.py").write_text(LAKES)
    monkeypatch.syspath_prepend(tmp_path)
    with WorldProcess("py:my_cliffs:SOURCE/CliffWalking-v1") as world:
        assert world.spec.shape == (4, 12) and world.spec.baselines == (None,)
        assert world.reset().frame[3, 0] == 9
        for number in [1, *[2] * 11]:
            assert world.step(Action(number)).status is Status.RUNNING
        last = world.step(Action(3))  # its reward is -1 all the same
        assert last.status is Status.COMPLETED and last.frame[3, 11] == 9
