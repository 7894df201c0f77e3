"""One operator's call of the model, whole: asked through the desk, tools used, read, and asked again once where unreadable."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any

from lawbook.errors import MindError
from lawbook.minds.base import Case, Exchange
from lawbook.minds.llm import templates
from lawbook.minds.llm.model import ImagePart, Model, Part, Receipt, Request, Turn
from lawbook.minds.llm.parsing import UnreadableAnswerError
from lawbook.minds.llm.tools import MAX_TOOL_CALLS, Toolset

MAX_REPAIRS = 1
"""Times that a model is told why its answer could not be read."""


class UnusableAnswerError(Exception):
    """The model's answer could not be read, and not when asked again either. str(error): why, a sentence for the model."""


class OperatorCaller:
    """The model, as one mind calls it. Keeps nothing of a call but its costs, and those only until they are fetched."""

    def __init__(self, model: Model, *, images: bool = False) -> None:
        self.model, self.images = model, images
        self._costs: Counter[str] = Counter()
        self._notes: dict[str, float | int | str] = {}

    def ask[Answer](
        self,
        op: str,
        case: Case,
        parts: list[Part],
        parse: Callable[[str, bool], Answer],
        schema: Mapping[str, Any],
        *,
        tools: Toolset | None = None,
        extra_prompt: str = "",
        make_images: Callable[[], tuple[ImagePart, ...]] = tuple,
    ) -> Answer:
        """Ask for the operator's answer and read it by `parse(text, final_attempt)`.

        parts: without the task, which is put after them, and the prompt `extra_prompt` after that. schema: of the answer, in JSON.
        Raises UnusableAnswerError where it cannot be read, not even when asked again; MindError where none can be had.
        """
        arm = {"rulebook": case.needs_rulebook, "allows_open": case.allows_open}
        system, task = templates.build_system_prompt(op, **arm), templates.load_prompt(op, **arm)
        uses_text_tools = tools is not None and not self.model.supports_tools
        tool_parts = [Part("tools", templates.load_prompt("tools", later=bool(case.history), **arm))] if uses_text_tools else []
        message_parts = [
            *parts,
            *tool_parts,
            Part("task", task),
            *([Part(extra_prompt, templates.load_prompt(extra_prompt, **arm))] if extra_prompt else []),
        ]
        images = make_images() if self.images and self.model.supports_images else ()
        native_tools = tools.list_functions() if tools is not None and not uses_text_tools else ()
        turns: list[Turn] = []
        repairs = tool_calls = 0
        while True:
            request = Request(
                op, system, tuple(message_parts), schema, tuple(turns), native_tools, MAX_TOOL_CALLS if native_tools else 0, images
            )
            answer = self._exchange(case, request)
            tool_call = (
                tools.parse_tool_request(answer) if uses_text_tools and tools is not None and tool_calls <= MAX_TOOL_CALLS else None
            )
            if tool_call is not None:
                tool_calls += 1
                turns.append(Turn(answer, tool_call()))
                continue
            try:
                return parse(answer, repairs >= MAX_REPAIRS)
            except UnreadableAnswerError as error:
                problem = str(error) if answer.strip() else f"Your answer was empty. {error}"
            if repairs >= MAX_REPAIRS:
                raise UnusableAnswerError(f"The answer to {op} could not be used: {problem}")
            repairs += 1
            turns.append(Turn(answer, f"{problem} Answer again, whole, in the form that was asked for."))

    def add_note(self, name: str, value: str) -> None:
        """Note something to be known of this call in the ledger."""
        self._notes[name] = value

    def receipt(self) -> Receipt:
        """Return the cost of the calls since the last receipt, where the ledger does not have it already; and what was noted."""
        costs: dict[str, float | int | str] = {**self._notes, **self._costs}
        if costs and not self._costs:
            costs["requests"] = 0  # they stand in the ledger, each by itself
        self._costs, self._notes = Counter(), {}
        return costs

    def _exchange(self, case: Case, request: Request) -> str:
        def ask() -> Exchange:
            reply = self.model.ask(request)
            return Exchange(reply.text, {**reply.receipt, "prompt": version})

        version = templates.compute_version(request.op)
        request_text = f"{request.system}\n\n{request.text}"
        if case.tools is not None:
            return case.tools.exchange(request.op, request_text, ask)
        try:
            exchange = ask()
        except MindError as error:
            self._add_cost(getattr(error, "receipt", {}))
            raise
        self._add_cost(exchange.receipt)
        return exchange.answer

    def _add_cost(self, receipt: Receipt) -> None:
        self._costs["requests"] += int(receipt.get("requests", 1))
        for name, value in receipt.items():
            if isinstance(value, str):
                self._notes[name] = value
            elif name != "requests":
                self._costs[name] += value  # type: ignore[assignment]
