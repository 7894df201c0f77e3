"""One operator's call of the model, whole: asked through the desk, tools used, read, and asked again once where unreadable."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any

from lawbook.errors import MindError
from lawbook.minds.base import Case, Exchange
from lawbook.minds.llm import templates
from lawbook.minds.llm.model import Model, Part, Picture, Receipt, Request, Turn
from lawbook.minds.llm.parsing import Unreadable
from lawbook.minds.llm.tools import ROUNDS, Tools

REPAIRS = 1
"""Times that a model is told why its answer could not be read."""


class UnusableError(Exception):
    """The model's answer could not be read, and not when asked again either. str(error): why, a sentence for the model."""


class Calls:
    """The model, as one mind calls it. Keeps nothing of a call but its costs, and those only until they are fetched."""

    def __init__(self, model: Model, *, images: bool = False) -> None:
        self.model, self.images = model, images
        self._costs: Counter[str] = Counter()
        self._told: dict[str, float | int | str] = {}

    def ask[Answer](
        self,
        op: str,
        case: Case,
        parts: list[Part],
        read: Callable[[str, bool], Answer],
        schema: Mapping[str, Any],
        *,
        tools: Tools | None = None,
        also: str = "",
        pictures: Callable[[], tuple[Picture, ...]] = tuple,
    ) -> Answer:
        """The operator's answer, read. parts: without the task, which is put after them, and the prompt `also` after that.

        Raises UnusableError, MindError."""
        book = case.needs_rulebook
        system, task = templates.system(op, book), templates.prompt(op, book)
        spoken = tools is not None and not self.model.tools
        closer = [Part("tools", templates.prompt("tools", book, later=bool(case.history)))] if spoken else []
        asked = [*parts, *closer, Part("task", task), *([Part(also, templates.prompt(also, book))] if also else [])]
        shown = pictures() if self.images and self.model.pictures else ()
        native = tools.functions() if tools is not None and not spoken else ()
        turns: list[Turn] = []
        repairs = looks = 0
        while True:
            request = Request(op, system, tuple(asked), schema, tuple(turns), native, ROUNDS if native else 0, shown)
            said = self._exchange(case, request)
            look = tools.asked(said) if spoken and tools is not None and looks <= ROUNDS else None
            if look is not None:
                looks += 1
                turns.append(Turn(said, look()))
                continue
            try:
                return read(said, repairs >= REPAIRS)
            except Unreadable as error:
                sentence = str(error) if said.strip() else f"Your answer was empty. {error}"
            if repairs >= REPAIRS:
                raise UnusableError(f"The answer to {op} could not be used: {sentence}")
            repairs += 1
            turns.append(Turn(said, f"{sentence} Answer again, whole, in the form that was asked for."))

    def mark(self, name: str, value: str) -> None:
        """Something to be known of this call in the ledger."""
        self._told[name] = value

    def receipt(self) -> Receipt:
        """What the calls since the last receipt cost, where no desk has written that down already; and what was marked."""
        costs: dict[str, float | int | str] = {**self._told, **self._costs}
        if costs and not self._costs:
            costs["requests"] = 0  # they stand in the ledger, each by itself
        self._costs, self._told = Counter(), {}
        return costs

    def _exchange(self, case: Case, request: Request) -> str:
        def ask() -> Exchange:
            reply = self.model.ask(request)
            return Exchange(reply.text, {**reply.receipt, "prompt": version})

        version = templates.version(request.op)
        whole = f"{request.system}\n\n{request.text}"
        if case.desk is not None:
            return case.desk.exchange(request.op, whole, ask)
        try:
            given = ask()
        except MindError as error:
            self._count(getattr(error, "receipt", {}))
            raise
        self._count(given.receipt)
        return given.answer

    def _count(self, receipt: Receipt) -> None:
        self._costs["requests"] += int(receipt.get("requests", 1))
        for name, value in receipt.items():
            if isinstance(value, str):
                self._told[name] = value
            elif name != "requests":
                self._costs[name] += value  # type: ignore[assignment]
