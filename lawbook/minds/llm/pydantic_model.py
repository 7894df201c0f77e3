"""A model of any provider, through pydantic-ai: one call with its tool rounds, tried again where that may help, and its bill."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, cast

import pydantic
from pydantic_ai import Tool as ToolOf
from pydantic_ai import messages as m
from pydantic_ai.direct import model_request
from pydantic_ai.exceptions import AgentRunError, UnexpectedModelBehavior, UserError
from pydantic_ai.models import Model as Provided
from pydantic_ai.models import ModelRequestParameters
from pydantic_ai.output import OutputObjectDefinition
from pydantic_ai.settings import ModelSettings
from pydantic_ai.tools import ToolDefinition

from lawbook.core import spending
from lawbook.errors import MindError
from lawbook.minds.llm import retries
from lawbook.minds.llm.model import ModelError, Reply, Request, Tool
from lawbook.minds.llm.model_address import Manner, model_at
from lawbook.minds.llm.pricing import Bill

LONG = ("revise", "compile", "simplify")
"""Operators that answer with whole texts: as text unless a schema was asked for."""
CACHE_POINTS = 3
"""A provider keeps four; the system prompt and the tools lie before the first."""

_ANSWER = "answer"
_AS_JSON = "Give that answer as the JSON object that is asked for, its fields in place of the lines and blocks described above."
_SPENT = "No more looks; answer now."
_FINISH = {"length": "length", "content_filter": "refused", "error": "error"}


def connect(address: str) -> PydanticModel:
    """The model at `provider:MODEL?option=value`. Raises UsageError. Sends nothing."""
    model, manner = model_at(address)
    return PydanticModel(model, name=address.partition("?")[0], manner=manner)


class PydanticModel:
    """See minds.llm.model.Model. model: any of pydantic-ai's, its FunctionModel too.

    pause: seconds before the second try, twice as many before each further one, unless the provider says how long.
    sleep: for whoever cannot wait. A model belongs to one thread.
    """

    def __init__(
        self,
        model: Provided,
        *,
        name: str = "",
        manner: Manner | None = None,
        pause: float = 2.0,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._model, self._manner, self._pause, self._sleep = model, manner or Manner(output="text"), pause, sleep
        profile: Any = model.profile
        self.name = name or f"{model.system}:{model.model_name}"
        self.tools = bool(profile.get("supports_tools", True)) if self._manner.tools is None else self._manner.tools
        self.pictures = bool(profile.get("supports_image_input")) if self._manner.pictures is None else self._manner.pictures
        self._keeps_cache = bool(profile.get("supports_cache") or profile.get("openai_supports_prompt_cache_breakpoints"))
        self._output = self._manner.output
        if self._output == "auto":
            self._output = "native" if profile.get("supports_json_schema_output") else "tool" if self.tools else "text"
        self._auto = self._manner.output == "auto"
        self._loop: asyncio.AbstractEventLoop | None = None

    def ask(self, request: Request) -> Reply:
        """One call: every request to the provider that it takes. Raises ModelError when no answer can be had."""
        bill = Bill(self.name)
        try:
            return self._asked(request, bill)
        except ModelError:
            raise
        except MindError as error:  # a cap, or a tool that says so
            raise ModelError(str(error), bill.receipt()) from error

    def close(self) -> None:
        """Let go of connections. Another `ask` makes new ones."""
        loop, self._loop = self._loop, None
        if loop is not None:
            loop.run_until_complete(loop.shutdown_asyncgens())
            loop.close()

    # -- one call --------------------------------------------------------------------------------------------------------------

    def _asked(self, request: Request, bill: Bill) -> Reply:
        tools = {tool.__name__: tool for tool in request.tools} if self.tools else {}
        sent, left = self._messages(request, self._shape(request)), request.rounds
        while True:
            response = self._answered(request, sent, tuple(tools.values()), left > 0, bill)
            calls = [call for call in response.tool_calls if call.tool_name != _ANSWER]
            final = next((call for call in response.tool_calls if call.tool_name == _ANSWER), None)
            if final is not None or not calls or not tools or left < 0:
                break
            bill.tool_calls += len(calls)
            told: list[m.ModelRequestPart] = []
            for call in calls:
                told.append(m.ToolReturnPart(call.tool_name, self._used(tools, call) if left > 0 else _SPENT, call.tool_call_id))
                left -= 1
            sent = [*sent, response, m.ModelRequest(told)]
        bill.finish = _FINISH.get(response.finish_reason or "", "stop")
        return Reply(final.args_as_json_str() if final is not None else response.text or "", bill.receipt())

    def _used(self, tools: dict[str, Tool], call: m.ToolCallPart) -> str:
        """What a tool says; what is no call of one is told to the model."""
        tool = tools.get(call.tool_name)
        if tool is None:
            return f"There is no tool {call.tool_name[:60]!r}; there is {', '.join(tools)}."
        try:
            return pydantic.validate_call(tool)(**call.args_as_dict(raise_if_invalid=True))
        except (pydantic.ValidationError, TypeError, ValueError) as error:
            problem = error.errors()[0]["msg"] if isinstance(error, pydantic.ValidationError) else str(error)
            return f"These are not the arguments of {call.tool_name}: {problem[:300]}"

    def _answered(
        self, request: Request, sent: list[m.ModelMessage], tools: tuple[Tool, ...], may_look: bool, bill: Bill
    ) -> m.ModelResponse:
        """One answer of the provider, however many tries it takes. Raises ModelError."""
        tries = 0
        while True:
            spending.allow(bill.receipt())
            bill.requests, tries, began = bill.requests + 1, tries + 1, time.perf_counter()
            shape = self._shape(request)
            try:
                response = self._run(sent, shape, request, tools, may_look)
                bill.add(response)
                if not response.parts and response.finish_reason is None and not response.usage.output_tokens:
                    raise UnexpectedModelBehavior("an empty answer")
                return response
            except (AgentRunError, UserError, OSError) as error:
                bill.failures += 1
                if shape != "text" and retries.shape_refused(error):
                    self._output = "tool" if shape == "native" and self.tools and self._auto else "text"
                    sent = [*self._messages(request, self._shape(request)), *sent[len(self._messages(request, shape)) :]]
                    continue
                pause = retries.wait(error, tries, self._pause)
                if not retries.passes(error) or tries >= retries.TRIES or pause > retries.LONGEST:
                    raise ModelError(retries.sentence(error, self.name, tries), bill.receipt()) from error
                bill.retries, bill.waited = bill.retries + 1, bill.waited + pause
            finally:
                bill.seconds += time.perf_counter() - began
            self._sleep(pause)

    def _run(
        self, sent: list[m.ModelMessage], shape: str, request: Request, tools: tuple[Tool, ...], may_look: bool
    ) -> m.ModelResponse:
        settings = cast(ModelSettings, dict(self._manner.settings or {}))
        if tools and not may_look:
            settings["tool_choice"] = "none"
        asked = model_request(
            self._model,
            sent,
            model_settings=settings,
            model_request_parameters=_parameters(request, shape, tools),
        )
        if self._loop is None:
            self._loop = asyncio.new_event_loop()
        task = self._loop.create_task(asked)
        try:
            return self._loop.run_until_complete(task)
        except BaseException:  # Ctrl-C too: nothing of it may go on behind our back
            if not task.done():
                task.cancel()
                self._loop.run_until_complete(asyncio.gather(task, return_exceptions=True))
            raise

    # -- what is sent ------------------------------------------------------------------------------------------------------------

    def _shape(self, request: Request) -> str:
        """text, native or tool: how this request's answer is asked for."""
        return "text" if not request.schema or (self._auto and request.op in LONG) else self._output

    def _messages(self, request: Request, shape: str) -> list[m.ModelMessage]:
        content: list[m.UserContent] = [*self._parts(request)]
        for picture in request.pictures if self.pictures else ():
            content += [picture.caption, m.BinaryContent(picture.png, media_type="image/png")]
        if shape != "text" and not request.turns:
            content.append(_AS_JSON)
        whole: str | list[m.UserContent] = content
        if all(isinstance(item, str) for item in content):
            whole = "\n\n".join(item for item in content if isinstance(item, str))
        found: list[m.ModelMessage] = [m.ModelRequest([m.SystemPromptPart(request.system), m.UserPromptPart(whole)])]
        for turn in request.turns:
            found.append(m.ModelResponse([m.TextPart(turn.said or "(no answer)")]))
            found.append(m.ModelRequest([m.UserPromptPart(turn.reply)]))
        return found

    def _parts(self, request: Request) -> list[m.UserContent]:
        """The parts' text, with a cache point after each of the last few stable ones where the provider keeps such."""
        stable = [k for k, part in enumerate(request.parts) if part.stable]
        points = set(stable[-CACHE_POINTS:]) if self._keeps_cache else set()
        found: list[m.UserContent] = []
        block: list[str] = []
        for k, part in enumerate(request.parts):
            block.append(part.text)
            if k in points and part.text:
                found += ["\n\n".join(block), m.CachePoint()]
                block = []
        return [*found, "\n\n".join(block)] if block else found


def _parameters(request: Request, shape: str, tools: Sequence[Tool]) -> ModelRequestParameters:
    schema = dict(request.schema)
    given = ModelRequestParameters(function_tools=[ToolOf(tool, takes_ctx=False).tool_def for tool in tools])
    if shape == "native":
        return replace(given, output_mode="native", output_object=OutputObjectDefinition(schema, name=_ANSWER))
    if shape == "tool":
        answer = ToolDefinition(name=_ANSWER, parameters_json_schema=schema, description="Gives your answer.", kind="output")
        return replace(given, output_mode="tool", output_tools=[answer], allow_text_output=True)
    return given
