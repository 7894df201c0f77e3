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

from lawbook.arc.local import ACTIONS, CLICKS, FailureHandler
from lawbook.arc.settings import COOKIES_VARIABLE, KEY_VARIABLE, MODE_VARIABLE, TICKET_VARIABLE, URL_VARIABLE
from lawbook.core.plugins import suggest_name
from lawbook.core.record import RESET, Action, Observation
from lawbook.errors import UsageError, WorldError
from lawbook.worlds.arcengine_world import decode_observation, make_click_data
from lawbook.worlds.world import WorldSpec

DEFAULT_URL = "https://three.arcprize.org"
"""Where the games are when ARC_BASE_URL does not say otherwise."""

logging.getLogger("arc_agi.scorecard").setLevel(logging.WARNING)  # it would write to stdout, which is not for that


class RemoteArcWorld:
    """A game on a server. Its play outlives this process and cannot be replayed: what was billed once is billed.

    An answer that does not come (refused, too late, broken off) raises WorldError; whether the action counted is then settled by
    `rejoin`, from the scorecard. Nothing is ever sent a second time here.
    """

    def __init__(
        self,
        env: _RejoiningWrapper,
        spec: WorldSpec,
        arcade: Arcade,
        failure_handler: _NetworkFailureHandler,
        first_observation: Observation | None,
    ) -> None:
        self.spec = spec
        self._env, self._arcade, self._failure_handler, self._first_observation = env, arcade, failure_handler, first_observation
        self._level = first_observation.level if first_observation else 0

    def reset(self) -> Observation:
        first_observation, self._first_observation = self._first_observation, None
        return first_observation or self._receive(self._env.reset(), RESET)

    def step(self, action: Action) -> Observation:
        return self._receive(self._env.step(GameAction.from_id(action.id), data=make_click_data(action)), action)

    def rejoin(self, level: int) -> tuple[int, int] | None:
        self._level = level
        try:
            scorecard = self._arcade.get_scorecard(self._env.scorecard_id)
        except RequestException as error:
            # In competition nobody sees a card before its end (403), and nobody one that was closed (404).
            if error.response is not None and error.response.status_code in (403, 404):
                return None
            raise WorldError(f"The scorecard cannot be read: {_explain_failure(error, self._env.base_url)}") from error
        runs = [run for game in (scorecard.environments if scorecard else ()) for run in game.runs if run.guid == self._env.guid]
        return len(runs), sum(run.actions for run in runs)

    def close(self) -> None:
        pass

    def _receive(self, response: object, action: Action) -> Observation:
        if response is None:  # the toolkit swallows what went wrong, and logs it
            raise WorldError(f"Action {action}: {self._failure_handler.explain(self._env.base_url)}")
        observation = decode_observation(response, action, self._level)
        self._level = observation.level
        return observation


class _TimeoutAdapter(HTTPAdapter):
    """Waits as long as it is told to; the toolkit's own ten seconds would leave an action in doubt that is only slow."""

    def __init__(self, seconds: float) -> None:
        super().__init__()
        self._seconds = seconds

    def send(self, request: PreparedRequest, **options: Any) -> Response:  # type: ignore[override]
        return super().send(request, **{**options, "timeout": self._seconds})


class _RejoiningWrapper(RemoteEnvironmentWrapper):  # type: ignore[misc]
    """The toolkit's own, which opens a play when it is made; or takes up the one with `guid`."""

    def __init__(
        self, arcade: Arcade, info: EnvironmentInfo, card: str, logger: logging.Logger, seconds: float, guid: str = ""
    ) -> None:
        self._rejoin_guid, self._seconds, self._is_made = guid, seconds, False
        jar = RequestsCookieJar()
        jar.update(_read_cookies())
        super().__init__(arcade.arc_base_url, info, arcade.arc_api_key, logger, card, master_cookie_jar=jar)

    def reset(self) -> Any:
        if self._is_made:
            return super().reset()
        self._is_made = True
        for scheme in ("http://", "https://"):
            self._session.mount(scheme, _TimeoutAdapter(self._seconds))
        if self._rejoin_guid:
            self._guid = self._rejoin_guid
            return None
        return super().reset()

    @property
    def guid(self) -> str:
        """The play, as the server names it."""
        return self._guid or ""


class _NetworkFailureHandler(FailureHandler):
    """Keeps the exception behind the last complaint too: it says what kind of failure it was."""

    error: BaseException | None = None

    def emit(self, record: logging.LogRecord) -> None:
        super().emit(record)
        self.error = record.exc_info[1] if record.exc_info else None

    def explain(self, url: str) -> str:
        return _explain_failure(self.error, url) if self.error else f"{self.last or 'the server gave no answer'}."


def start(name: str, mode: str, card: str, timeout: float, baselines: tuple[int, ...] | None) -> RemoteArcWorld:
    """`<game>` or `<game>/<version>` on the server; with a ticket in the environment the play it names is taken up again.

    card: an open scorecard of this key; empty: one is opened. timeout: seconds an answer may take. baselines: what people took,
    where it is known from elsewhere. Raises UsageError when there is no such game, key or card.
    """
    failure_handler = _NetworkFailureHandler()
    arcade = _make_arcade(mode, failure_handler)
    ticket = json.loads(os.environ.get(TICKET_VARIABLE) or "{}")
    if ticket:
        env = _RejoiningWrapper(
            arcade, EnvironmentInfo(game_id=ticket["game"]), ticket["card"], _make_logger(failure_handler), timeout, ticket["guid"]
        )
        return RemoteArcWorld(env, _make_spec(ticket, baselines), arcade, failure_handler, None)
    info = _find_game(arcade, name, failure_handler)
    card = card or open_card(mode).id
    env = _RejoiningWrapper(arcade, info, card, _make_logger(failure_handler), timeout)
    response = env.observation_space
    if response is None:
        raise UsageError(f"arc:{name} could not be opened on card {card}: {failure_handler.explain(arcade.arc_base_url)}")
    first = decode_observation(response, RESET, 0)
    server_baselines, levels = tuple(info.baseline_actions or ()), response.win_levels or None
    ticket = {"game": info.game_id, "card": card, "guid": env.guid, "shape": first.frame.shape, "levels": levels}
    return RemoteArcWorld(env, _make_spec(ticket, server_baselines or baselines), arcade, failure_handler, first)


def _make_spec(ticket: Mapping[str, Any], baselines: tuple[int, ...] | None) -> WorldSpec:
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
    failure_handler = _NetworkFailureHandler()
    arcade = _make_arcade("normal", failure_handler, root)
    info = _find_game(arcade, name, failure_handler)
    if arcade.make(info.game_id) is None:
        raise UsageError(f"arc:{name} could not be downloaded to {root}: {failure_handler.explain(arcade.arc_base_url)}")


# -- scorecards ------------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Scorecard:
    """An open scorecard. key, cookies: what it was opened with, and is to be played and closed with."""

    id: str
    mode: str
    key: str
    url: str
    cookies: Mapping[str, str]

    def share(self) -> None:
        """Let the processes of worlds that this one starts play on it: through the environment."""
        os.environ[KEY_VARIABLE] = self.key
        if self.cookies:
            os.environ[COOKIES_VARIABLE] = json.dumps(dict(self.cookies))


def open_card(mode: str, tags: Sequence[str] = (), source_url: str = "") -> Scorecard:
    """Open a scorecard on the server. Raises UsageError when it gives none."""
    arcade = _make_arcade(mode, _NetworkFailureHandler())
    try:
        card = arcade.create_scorecard(source_url or None, list(tags) or ["lawbook"])
    except (RequestException, KeyError, ValueError) as error:
        raise UsageError(f"No scorecard could be opened: {_explain_failure(error, arcade.arc_base_url)}") from error
    return Scorecard(card, mode, arcade.arc_api_key, arcade.arc_base_url, _flatten_cookies(arcade._session.cookies))


def close_card(card: str, mode: str) -> dict[str, Any]:
    """Close a scorecard of the key in the environment; what it comes to, as the server has it. Raises UsageError."""
    return _fetch_card(card, mode, close=True)


def read_card(card: str, mode: str) -> dict[str, Any]:
    """What an open scorecard says so far; in competition mode servers do not tell. Raises UsageError."""
    return _fetch_card(card, mode, close=False)


def _fetch_card(card: str, mode: str, *, close: bool) -> dict[str, Any]:
    arcade = _make_arcade(mode, _NetworkFailureHandler())
    try:
        scorecard = arcade.close_scorecard(card) if close else arcade.get_scorecard(card)
    except (RequestException, ValueError) as error:
        operation = "closed" if close else "read"
        raise UsageError(f"Scorecard {card} could not be {operation}: {_explain_failure(error, arcade.arc_base_url)}") from error
    fields: dict[str, Any] = scorecard.model_dump(mode="json", exclude_none=True)
    fields.pop("api_key", None)
    return fields


# -- inside ----------------------------------------------------------------------------------------------------------------------


def _make_arcade(mode: str, failure_handler: _NetworkFailureHandler, root: Path | None = None) -> Arcade:
    """The toolkit's client with its list of games. Raises UsageError where the server is not there, or wants another key."""
    url = os.environ.get(URL_VARIABLE) or DEFAULT_URL
    os.environ.pop(MODE_VARIABLE, None)  # of a `.env` that came with the import; it would overrule `mode`
    try:
        arcade = Arcade(
            os.environ.get(KEY_VARIABLE, ""),
            url,
            OperationMode(mode),
            str(root or os.devnull),
            os.devnull,
            _make_logger(failure_handler),
        )
    except RequestException as error:  # there was no key, and it could not get one for the anonymous
        problem = f"{KEY_VARIABLE} is not set, and no anonymous key could be had"
        raise UsageError(f"{problem}: {_explain_failure(error, url)}") from error
    if not arcade.arc_api_key:
        raise UsageError(f"{KEY_VARIABLE} is not set, and {url} gives no anonymous key; set it to the key of your account.")
    if isinstance(failure_handler.error, RequestException):
        raise UsageError(f"The games on the server could not be listed: {_explain_failure(failure_handler.error, url)}")
    for scheme in ("http://", "https://"):
        if mode != "normal":
            arcade._session.mount(scheme, _TimeoutAdapter(30.0))
            arcade._session.cookies.update(_read_cookies())
    return arcade


def _find_game(arcade: Arcade, name: str, failure_handler: _NetworkFailureHandler) -> EnvironmentInfo:
    game_id = name.replace("/", "-", 1)
    games = {info.game_id: info for info in arcade.get_environments()}
    matches = [candidate for candidate in games if candidate == game_id or candidate.startswith(f"{game_id}-")]
    if len(matches) > 1:
        raise UsageError(f"There are {len(matches)} versions of arc:{name}: {', '.join(g.replace('-', '/', 1) for g in matches)}.")
    if not matches:
        suggestion = suggest_name(game_id, [*(candidate.partition("-")[0] for candidate in games), *games])
        listing = f"There is: {', '.join(games)}." if games else failure_handler.explain(arcade.arc_base_url)
        raise UsageError(f"There is no world arc:{name} on {arcade.arc_base_url}.{suggestion} {listing}")
    return games[matches[0]]


def _read_cookies() -> dict[str, str]:
    """What the card was opened with: a server behind a balancer finds it again by them."""
    cookies: dict[str, str] = json.loads(os.environ.get(COOKIES_VARIABLE) or "{}")
    return cookies


def _flatten_cookies(jar: RequestsCookieJar) -> dict[str, str]:
    return {cookie.name: cookie.value or "" for cookie in jar}


def _make_logger(failure_handler: logging.Handler) -> logging.Logger:
    logger = logging.Logger("toolkit", logging.WARNING)
    logger.addHandler(failure_handler)
    return logger


def _explain_failure(error: BaseException | None, url: str) -> str:
    """A failure of the network as a sentence that says what to do. Holds no key."""
    response = getattr(error, "response", None)
    if response is None:
        kind = type(error).__name__
        return f"{url} gave no whole answer ({kind}); check the network and {URL_VARIABLE}, then go on."
    if response.status_code in (401, 403):
        return f"{url} refuses the key (HTTP {response.status_code}); put a valid one into {KEY_VARIABLE}."
    try:
        server_message = str(response.json().get("message", ""))
    except (ValueError, AttributeError):
        server_message = ""
    hint = "; a card that was closed, or idle too long, takes no more" if response.status_code in (400, 404) else ""
    return f"{url} answered HTTP {response.status_code}{f' ({server_message[:200]})' if server_message else ''}{hint}."
