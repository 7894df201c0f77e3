"""ARC-AGI-3 over REST, through the official toolkit: a game on a server, and the scorecard it is billed to. Slow to import."""

from __future__ import annotations

import json
import logging
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from arc_agi import Arcade, EnvironmentInfo, OperationMode
from arc_agi.remote_wrapper import RemoteEnvironmentWrapper
from arcengine import GameAction
from requests import PreparedRequest, RequestException, Response
from requests.adapters import HTTPAdapter
from requests.cookies import RequestsCookieJar

from lawbook.arc.local import ACTIONS, CLICKS, Failures
from lawbook.arc.settings import COOKIES, KEY, MODE, TICKET, URL
from lawbook.core.plugins import nearest
from lawbook.core.record import RESET, Action, Observation
from lawbook.errors import UsageError, WorldError
from lawbook.worlds.arcengine_world import click, observed
from lawbook.worlds.world import WorldSpec

HOST = "https://three.arcprize.org"
"""Where the games are when ARC_BASE_URL does not say otherwise."""

logging.getLogger("arc_agi.scorecard").setLevel(logging.WARNING)  # it would write to stdout, which is not for that


class RemoteArcWorld:
    """A game on a server. Its play outlives this process and cannot be replayed: what was billed once is billed.

    An answer that does not come (refused, too late, broken off) raises WorldError; whether the action counted is then settled by
    `rejoin`, from the scorecard. Nothing is ever sent a second time here.
    """

    def __init__(self, env: _Wrapper, spec: WorldSpec, arcade: Arcade, failures: _Failures, opening: Observation | None) -> None:
        self.spec = spec
        self._env, self._arcade, self._failures, self._opening = env, arcade, failures, opening
        self._level = opening.level if opening else 0

    def reset(self) -> Observation:
        opening, self._opening = self._opening, None
        return opening or self._received(self._env.reset(), RESET)

    def step(self, action: Action) -> Observation:
        return self._received(self._env.step(GameAction.from_id(action.id), data=click(action)), action)

    def rejoin(self, level: int) -> tuple[int, int] | None:
        self._level = level
        try:
            card = self._arcade.get_scorecard(self._env.scorecard_id)
        except RequestException as error:
            # In competition nobody sees a card before its end (403), and nobody one that was closed (404).
            if error.response is not None and error.response.status_code in (403, 404):
                return None
            raise WorldError(f"The scorecard cannot be read: {_why(error, self._env.base_url)}") from error
        runs = [run for game in (card.environments if card else ()) for run in game.runs if run.guid == self._env.guid]
        return len(runs), sum(run.actions for run in runs)

    def close(self) -> None:
        pass

    def _received(self, answer: object, action: Action) -> Observation:
        if answer is None:  # the toolkit swallows what went wrong, and logs it
            raise WorldError(f"Action {action}: {self._failures.why(self._env.base_url)}")
        seen = observed(answer, action, self._level)
        self._level = seen.level
        return seen


class _Patient(HTTPAdapter):
    """Waits as long as it is told to; the toolkit's own ten seconds would leave an action in doubt that is only slow."""

    def __init__(self, seconds: float) -> None:
        super().__init__()
        self._seconds = seconds

    def send(self, request: PreparedRequest, **given: Any) -> Response:  # type: ignore[override]
        return super().send(request, **{**given, "timeout": self._seconds})


class _Wrapper(RemoteEnvironmentWrapper):  # type: ignore[misc]
    """The toolkit's own, which opens a play when it is made; or takes up the one with `guid`."""

    def __init__(
        self, arcade: Arcade, info: EnvironmentInfo, card: str, log: logging.Logger, seconds: float, guid: str = ""
    ) -> None:
        self._joining, self._seconds, self._made = guid, seconds, False
        jar = RequestsCookieJar()
        jar.update(_cookies())
        super().__init__(arcade.arc_base_url, info, arcade.arc_api_key, log, card, master_cookie_jar=jar)

    def reset(self) -> Any:
        if self._made:
            return super().reset()
        self._made = True
        for scheme in ("http://", "https://"):
            self._session.mount(scheme, _Patient(self._seconds))
        if self._joining:
            self._guid = self._joining
            return None
        return super().reset()

    @property
    def guid(self) -> str:
        """The play, as the server names it."""
        return self._guid or ""


class _Failures(Failures):
    """Keeps the exception behind the last complaint too: it says what kind of failure it was."""

    error: BaseException | None = None

    def emit(self, record: logging.LogRecord) -> None:
        super().emit(record)
        self.error = record.exc_info[1] if record.exc_info else None

    def why(self, url: str) -> str:
        return _why(self.error, url) if self.error else f"{self.last or 'the server gave no answer'}."


def start(name: str, mode: str, card: str, timeout: float, baselines: tuple[int, ...] | None) -> RemoteArcWorld:
    """`<game>` or `<game>/<version>` on the server; with a ticket in the environment the play it names is taken up again.

    card: an open scorecard of this key; empty: one is opened. timeout: seconds an answer may take. baselines: what people took,
    where it is known from elsewhere. Raises UsageError when there is no such game, key or card.
    """
    failures = _Failures()
    arcade = _arcade(mode, failures)
    ticket = json.loads(os.environ.get(TICKET) or "{}")
    if ticket:
        env = _Wrapper(arcade, EnvironmentInfo(game_id=ticket["game"]), ticket["card"], _log(failures), timeout, ticket["guid"])
        return RemoteArcWorld(env, _spec(ticket, baselines), arcade, failures, None)
    info = _game(arcade, name, failures)
    card = card or open_card(mode).id
    env = _Wrapper(arcade, info, card, _log(failures), timeout)
    answer = env.observation_space
    if answer is None:
        raise UsageError(f"arc:{name} could not be opened on card {card}: {failures.why(arcade.arc_base_url)}")
    first = observed(answer, RESET, 0)
    said, levels = tuple(info.baseline_actions or ()), answer.win_levels or None
    ticket = {"game": info.game_id, "card": card, "guid": env.guid, "shape": first.frame.shape, "levels": levels}
    return RemoteArcWorld(env, _spec(ticket, said or baselines), arcade, failures, first)


def _spec(ticket: Mapping[str, Any], baselines: tuple[int, ...] | None) -> WorldSpec:
    (height, width), levels = ticket["shape"], ticket["levels"]
    return WorldSpec(
        shape=(height, width),
        actions=ACTIONS,
        clicks=CLICKS,
        levels=levels,
        baselines=baselines if baselines and len(baselines) == levels else None,
        baseline="human",
        palette="arc",
        replayable=False,
        ticket=json.dumps(ticket),
    )


def download(name: str, root: Path) -> None:
    """Have the toolkit put a game into `root`, as `<game>/<version>/`, unless it is there. Raises UsageError."""
    failures = _Failures()
    arcade = _arcade("normal", failures, root)
    info = _game(arcade, name, failures)
    if arcade.make(info.game_id) is None:
        raise UsageError(f"arc:{name} could not be downloaded to {root}: {failures.why(arcade.arc_base_url)}")


# -- scorecards ------------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Card:
    """An open scorecard. key, cookies: what it was opened with, and is to be played and closed with."""

    id: str
    mode: str
    key: str
    url: str
    cookies: Mapping[str, str]

    def share(self) -> None:
        """Let the processes of worlds that this one starts play on it: through the environment."""
        os.environ[KEY] = self.key
        if self.cookies:
            os.environ[COOKIES] = json.dumps(dict(self.cookies))


def open_card(mode: str, tags: Sequence[str] = (), source_url: str = "") -> Card:
    """Open a scorecard on the server. Raises UsageError when it gives none."""
    arcade = _arcade(mode, _Failures())
    try:
        card = arcade.create_scorecard(source_url or None, list(tags) or ["lawbook"])
    except (RequestException, KeyError, ValueError) as error:
        raise UsageError(f"No scorecard could be opened: {_why(error, arcade.arc_base_url)}") from error
    return Card(card, mode, arcade.arc_api_key, arcade.arc_base_url, _flat(arcade._session.cookies))


def close_card(card: str, mode: str) -> dict[str, Any]:
    """Close a scorecard of the key in the environment; what it comes to, as the server has it. Raises UsageError."""
    return _told(card, mode, close=True)


def read_card(card: str, mode: str) -> dict[str, Any]:
    """What an open scorecard says so far; in competition mode servers do not tell. Raises UsageError."""
    return _told(card, mode, close=False)


def _told(card: str, mode: str, *, close: bool) -> dict[str, Any]:
    arcade = _arcade(mode, _Failures())
    try:
        found = arcade.close_scorecard(card) if close else arcade.get_scorecard(card)
    except (RequestException, ValueError) as error:
        what = "closed" if close else "read"
        raise UsageError(f"Scorecard {card} could not be {what}: {_why(error, arcade.arc_base_url)}") from error
    told: dict[str, Any] = found.model_dump(mode="json", exclude_none=True)
    told.pop("api_key", None)
    return told


# -- inside ----------------------------------------------------------------------------------------------------------------------


def _arcade(mode: str, failures: _Failures, root: Path | None = None) -> Arcade:
    """The toolkit's client with its list of games. Raises UsageError where the server is not there, or wants another key."""
    url = os.environ.get(URL) or HOST
    os.environ.pop(MODE, None)  # of a `.env` that came with the import; it would overrule `mode`
    try:
        arcade = Arcade(os.environ.get(KEY, ""), url, OperationMode(mode), str(root or os.devnull), os.devnull, _log(failures))
    except RequestException as error:  # there was no key, and it could not get one for the anonymous
        what = f"{KEY} is not set, and no anonymous key could be had"
        raise UsageError(f"{what}: {_why(error, url)}") from error
    if not arcade.arc_api_key:
        raise UsageError(f"{KEY} is not set, and {url} gives no anonymous key; set it to the key of your account.")
    if isinstance(failures.error, RequestException):
        raise UsageError(f"The games on the server could not be listed: {_why(failures.error, url)}")
    for scheme in ("http://", "https://"):
        if mode != "normal":
            arcade._session.mount(scheme, _Patient(30.0))
            arcade._session.cookies.update(_cookies())
    return arcade


def _game(arcade: Arcade, name: str, failures: _Failures) -> EnvironmentInfo:
    wanted = name.replace("/", "-", 1)
    games = {info.game_id: info for info in arcade.get_environments()}
    found = [known for known in games if known == wanted or known.startswith(f"{wanted}-")]
    if len(found) > 1:
        raise UsageError(f"There are {len(found)} versions of arc:{name}: {', '.join(g.replace('-', '/', 1) for g in found)}.")
    if not found:
        near = nearest(wanted, [*(known.partition("-")[0] for known in games), *games])
        there = f"There is: {', '.join(games)}." if games else failures.why(arcade.arc_base_url)
        raise UsageError(f"There is no world arc:{name} on {arcade.arc_base_url}.{near} {there}")
    return games[found[0]]


def _cookies() -> dict[str, str]:
    """What the card was opened with: a server behind a balancer finds it again by them."""
    given: dict[str, str] = json.loads(os.environ.get(COOKIES) or "{}")
    return given


def _flat(jar: RequestsCookieJar) -> dict[str, str]:
    return {cookie.name: cookie.value or "" for cookie in jar}


def _log(failures: logging.Handler) -> logging.Logger:
    log = logging.Logger("toolkit", logging.WARNING)
    log.addHandler(failures)
    return log


def _why(error: BaseException | None, url: str) -> str:
    """A failure of the network as a sentence that says what to do. Holds no key."""
    response = getattr(error, "response", None)
    if response is None:
        kind = type(error).__name__
        return f"{url} gave no whole answer ({kind}); check the network and {URL}, then go on."
    if response.status_code in (401, 403):
        return f"{url} refuses the key (HTTP {response.status_code}); put a valid one into {KEY}."
    try:
        said = str(response.json().get("message", ""))
    except (ValueError, AttributeError):
        said = ""
    closed = "; a card that was closed, or idle too long, takes no more" if response.status_code in (400, 404) else ""
    return f"{url} answered HTTP {response.status_code}{f' ({said[:200]})' if said else ''}{closed}."
