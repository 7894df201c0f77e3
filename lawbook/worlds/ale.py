"""Atari 2600 games on the Arcade Learning Environment: `ale:pong?opening=7&frameskip=4`. `ale-py` brings emulator and games.

A frame is the emulator's screen as an action leaves it: H x W palette codes (0 to 255), mostly 210 x 160, nothing averaged or
cropped. Action k is the k-th of the game's minimal action set, in the order of ALE's own numbers, which mostly begins with doing
nothing; RESET (0) begins the episode anew. The one level is one episode.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from lawbook.core.plugins import suggest_name
from lawbook.core.record import Action, Observation, Status, freeze
from lawbook.errors import UsageError
from lawbook.worlds.address_options import AddressOptions
from lawbook.worlds.world import World, WorldSpec

MAX_EPISODE_FRAMES = 108_000
"""Emulator frames after which an episode is truncated: half an hour at 60 a second (Machado et al., 2018)."""
MAX_OPENING = 1_000
MAX_FRAMESKIP = 1_000

NO_OPERATION = 0
"""ALE's number of the action that does nothing, also where it is not in a game's minimal set."""

EXAMPLES = {
    "pong?target=21": "Two bats and a ball, to 21 points; won by a return of `target` (opening: no-op frames first).",
    "breakout": "A wall of bricks, a bat and a ball.",
    "boxing": "Two boxers in a ring, for two minutes.",
    "freeway": "Across ten lanes of traffic, as often as it can be done in two minutes.",
    "ms_pacman": "Mazes, pills and ghosts.",
    "space_invaders": "Rows of invaders that come nearer.",
}


class AleWorld:
    """One Atari game, one episode a level. rom_path: the game's file, one that ALE supports.

    opening: emulator frames of no-op before the first observation, whose reward counts for nothing. frameskip: emulator frames an
    action is held for; the reward is their sum. sticky: probability that the emulator repeats the previous action instead, a frame.
    seed: what every reset draws that from; nothing else in the emulator is left to chance. target: an episode that ended with at
    least this return is COMPLETED, any other OVER; None: every one is OVER. Raises UsageError where the opening ends the episode.
    """

    def __init__(
        self, rom_path: Path, *, opening: int = 0, frameskip: int = 4, sticky: float = 0.0, seed: int = 0, target: int | None = None
    ) -> None:
        from ale_py import ALEInterface, LoggerMode

        ALEInterface.setLoggerMode(LoggerMode.Error)
        self._ale = ALEInterface()
        self._ale.setInt("random_seed", seed)
        self._ale.setInt("max_num_frames_per_episode", MAX_EPISODE_FRAMES)
        self._ale.setFloat("repeat_action_probability", sticky)
        self._rom_path, self._opening, self._frameskip, self._target = rom_path, opening, frameskip, target
        self._return = 0.0
        self._action_ids: tuple[int, ...] = ()
        first_observation = self.reset()
        if self._ale.game_over():
            raise UsageError(f"An opening of {opening} frames ends the episode of {rom_path.stem}; take a shorter one.")
        self.spec = WorldSpec(
            shape=first_observation.frame.shape,
            actions=self._action_ids,
            levels=1,
            palette="atari",
            frameskip=frameskip,
            opening=opening,
        )

    def reset(self) -> Observation:
        """Begin the episode anew; see World.reset."""
        self._ale.loadROM(
            self._rom_path
        )  # in tennis and a dozen other games `reset_game` alone leaves traces of the episode before
        self._ale.reset_game()
        self._minimal_actions = self._ale.getMinimalActionSet()
        self._action_ids = tuple(range(1, len(self._minimal_actions) + 1))
        for _ in range(self._opening):
            self._ale.act(NO_OPERATION)
        self._return = 0.0
        return self._observe(Status.RUNNING, 0.0)

    def step(self, action: Action) -> Observation:
        """Send one action; see World.step."""
        ale_action = self._minimal_actions[action.id - 1]
        reward = float(sum(self._ale.act(ale_action) for _ in range(self._frameskip)))  # once it is over, `act` does nothing
        self._return += reward
        if self._ale.game_over(with_truncation=False):
            has_reached_target = self._target is not None and self._return >= self._target
            return self._observe(Status.COMPLETED if has_reached_target else Status.OVER, reward)
        return self._observe(Status.TRUNCATED if self._ale.game_truncated() else Status.RUNNING, reward)

    def close(self) -> None:
        """Do nothing: the emulator goes with its process."""

    def _observe(self, status: Status, reward: float) -> Observation:
        return Observation((freeze(self._ale.getScreen()),), status, int(status is Status.COMPLETED), self._action_ids, reward)


class AleSource:
    """Every game that `ale-py` has and supports, by its name in snake case."""

    summary = "Atari 2600 games on the Arcade Learning Environment; any of its hundred, by names like space_invaders."
    package = "ale_py"

    def names(self) -> Iterator[tuple[str, str]]:
        """List some of the games; see WorldSource.names."""
        yield from EXAMPLES.items()

    def make(self, name: str, options: Mapping[str, str]) -> World:
        """Make a game by its name; see WorldSource.make. Raises UsageError."""
        address_options = AddressOptions(f"ale:{name}", options)
        rom_path = find_rom(name)
        opening = address_options.get_int("opening", 0, low=0, high=MAX_OPENING)
        frameskip = address_options.get_int("frameskip", 4, low=1, high=MAX_FRAMESKIP)
        sticky = address_options.get_float("sticky", 0.0, low=0.0, high=1.0)
        seed = address_options.get_int("seed", 0, low=0, high=2**31 - 1)
        target = address_options.get_int("target", 0, low=-(10**9), high=10**9) if "target" in address_options else None
        address_options.reject_unread()
        return AleWorld(rom_path, opening=opening, frameskip=frameskip, sticky=sticky, seed=seed, target=target)


def find_rom(name: str) -> Path:
    """Return the file of a game. Raises UsageError with the nearest name, ImportError without `ale-py`."""
    from ale_py import ALEInterface, roms

    candidate_paths = {game: roms.get_rom_path(game) for game in roms.get_all_rom_ids()}
    rom_paths: dict[str, Path] = {
        game: path for game, path in candidate_paths.items() if path and ALEInterface.isSupportedROM(path)
    }
    if name not in rom_paths:  # or for two players only: ALE would end the process over those
        suggestion = suggest_name(name, rom_paths)
        raise UsageError(
            f"There is no world ale:{name}.{suggestion} ale-py has {len(rom_paths)} games, by names like space_invaders."
        )
    return rom_paths[name]


SOURCE = AleSource()
"""The entry point `ale`."""
