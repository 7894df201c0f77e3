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
from lawbook.minds.llm.model import ModelError, ModelReply, Request, Tool
from lawbook.minds.llm.model_address import ModelOptions, make_model
from lawbook.minds.llm.pricing import CallCost

TEXT_OPERATORS = ("revise", "compile", "simplify")
"""Operators that answer with whole texts: as text unless a schema was asked for."""
MAX_CACHE_POINTS = 3
"""A provider keeps four; the system prompt and the tools lie before the first."""

_ANSWER_TOOL = "answer"
_JSON_INSTRUCTION = (
    "Give that answer as the JSON object that is asked for, its fields in place of the lines and blocks described above."
)
_NO_CALLS_LEFT = "No more looks; answer now."
_FINISH_REASONS = {"length": "length", "content_filter": "refused", "error": "error"}


def connect(address: str) -> PydanticModel:
    """The model at `provider:MODEL?option=value`. Raises UsageError. Sends nothing."""
    model, options = make_model(address)
    return PydanticModel(model, name=address.partition("?")[0], options=options)


class PydanticModel:
    """See minds.llm.model.Model. model: any of pydantic-ai's, its FunctionModel too.

    first_pause: seconds before the second try, twice as many before each further one, unless the provider says how long.
    sleep: for whoever cannot wait. A model belongs to one thread.
    """

    def __init__(
        self,
        model: Provided,
        *,
        name: str = "",
        options: ModelOptions | None = None,
        first_pause: float = 2.0,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._model, self._options, self._pause, self._sleep = (
            model,
            options or ModelOptions(output_mode="text"),
            first_pause,
            sleep,
        )
        profile: Any = model.profile
        self.name = name or f"{model.system}:{model.model_name}"
        self.supports_tools = (
            bool(profile.get("supports_tools", True)) if self._options.supports_tools is None else self._options.supports_tools
        )
        self.supports_images = (
            bool(profile.get("supports_image_input")) if self._options.supports_images is None else self._options.supports_images
        )
        self._supports_cache = bool(profile.get("supports_cache") or profile.get("openai_supports_prompt_cache_breakpoints"))
        self._output_mode = self._options.output_mode
        if self._output_mode == "auto":
            self._output_mode = (
                "native" if profile.get("supports_json_schema_output") else "tool" if self.supports_tools else "text"
            )
        self._is_auto_output = self._options.output_mode == "auto"
        self._loop: asyncio.AbstractEventLoop | None = None

    def ask(self, request: Request) -> ModelReply:
        """One call: every request to the provider that it takes. Raises ModelError when no answer can be had."""
        cost = CallCost(self.name)
        try:
            return self._ask_with_tools(request, cost)
        except ModelError:
            raise
        except MindError as error:  # a cap, or a tool that says so
            raise ModelError(str(error), cost.build_receipt()) from error

    def close(self) -> None:
        """Let go of connections. Another `ask` makes new ones."""
        loop, self._loop = self._loop, None
        if loop is not None:
            loop.run_until_complete(loop.shutdown_asyncgens())
            loop.close()

    # -- one call --------------------------------------------------------------------------------------------------------------

    def _ask_with_tools(self, request: Request, cost: CallCost) -> ModelReply:
        tools = {tool.__name__: tool for tool in request.tools} if self.supports_tools else {}
        messages, calls_left = self._build_messages(request, self._pick_output_mode(request)), request.max_tool_calls
        while True:
            response = self._request_with_retries(request, messages, tuple(tools.values()), calls_left > 0, cost)
            calls = [call for call in response.tool_calls if call.tool_name != _ANSWER_TOOL]
            answer_call = next((call for call in response.tool_calls if call.tool_name == _ANSWER_TOOL), None)
            if answer_call is not None or not calls or not tools or calls_left < 0:
                break
            cost.tool_calls += len(calls)
            results: list[m.ModelRequestPart] = []
            for call in calls:
                results.append(
                    m.ToolReturnPart(
                        call.tool_name, self._call_tool(tools, call) if calls_left > 0 else _NO_CALLS_LEFT, call.tool_call_id
                    )
                )
                calls_left -= 1
            messages = [*messages, response, m.ModelRequest(results)]
        cost.finish = _FINISH_REASONS.get(response.finish_reason or "", "stop")
        return ModelReply(answer_call.args_as_json_str() if answer_call is not None else response.text or "", cost.build_receipt())

    def _call_tool(self, tools: dict[str, Tool], call: m.ToolCallPart) -> str:
        """What a tool says; what is no call of one is told to the model."""
        tool = tools.get(call.tool_name)
        if tool is None:
            return f"There is no tool {call.tool_name[:60]!r}; there is {', '.join(tools)}."
        try:
            return pydantic.validate_call(tool)(**call.args_as_dict(raise_if_invalid=True))
        except (pydantic.ValidationError, TypeError, ValueError) as error:
            reason = error.errors()[0]["msg"] if isinstance(error, pydantic.ValidationError) else str(error)
            return f"These are not the arguments of {call.tool_name}: {reason[:300]}"

    def _request_with_retries(
        self, request: Request, messages: list[m.ModelMessage], tools: tuple[Tool, ...], may_use_tools: bool, cost: CallCost
    ) -> m.ModelResponse:
        """One answer of the provider, however many tries it takes. Raises ModelError."""
        attempts = 0
        while True:
            spending.check_request(cost.build_receipt())
            cost.requests, attempts, started_at = cost.requests + 1, attempts + 1, time.perf_counter()
            output_mode = self._pick_output_mode(request)
            try:
                response = self._send_request(messages, output_mode, request, tools, may_use_tools)
                cost.add(response)
                if not response.parts and response.finish_reason is None and not response.usage.output_tokens:
                    raise UnexpectedModelBehavior("an empty answer")
                return response
            except (AgentRunError, UserError, OSError) as error:
                cost.failures += 1
                if output_mode != "text" and retries.is_output_mode_refused(error):
                    self._output_mode = (
                        "tool" if output_mode == "native" and self.supports_tools and self._is_auto_output else "text"
                    )
                    messages = [
                        *self._build_messages(request, self._pick_output_mode(request)),
                        *messages[len(self._build_messages(request, output_mode)) :],
                    ]
                    continue
                pause = retries.compute_delay(error, attempts, self._pause)
                if not retries.is_transient(error) or attempts >= retries.MAX_ATTEMPTS or pause > retries.MAX_WAIT_SECONDS:
                    raise ModelError(retries.format_failure(error, self.name, attempts), cost.build_receipt()) from error
                cost.retries, cost.waited = cost.retries + 1, cost.waited + pause
            finally:
                cost.seconds += time.perf_counter() - started_at
            self._sleep(pause)

    def _send_request(
        self, messages: list[m.ModelMessage], output_mode: str, request: Request, tools: tuple[Tool, ...], may_use_tools: bool
    ) -> m.ModelResponse:
        settings = cast(ModelSettings, dict(self._options.settings or {}))
        if tools and not may_use_tools:
            settings["tool_choice"] = "none"
        coroutine = model_request(
            self._model,
            messages,
            model_settings=settings,
            model_request_parameters=_build_parameters(request, output_mode, tools),
        )
        if self._loop is None:
            self._loop = asyncio.new_event_loop()
        task = self._loop.create_task(coroutine)
        try:
            return self._loop.run_until_complete(task)
        except BaseException:  # Ctrl-C too: nothing of it may go on behind our back
            if not task.done():
                task.cancel()
                self._loop.run_until_complete(asyncio.gather(task, return_exceptions=True))
            raise

    # -- what is sent ------------------------------------------------------------------------------------------------------------

    def _pick_output_mode(self, request: Request) -> str:
        """text, native or tool: how this request's answer is asked for."""
        return "text" if not request.schema or (self._is_auto_output and request.op in TEXT_OPERATORS) else self._output_mode

    def _build_messages(self, request: Request, output_mode: str) -> list[m.ModelMessage]:
        content: list[m.UserContent] = [*self._build_content(request)]
        for image in request.images if self.supports_images else ():
            content += [image.caption, m.BinaryContent(image.png, media_type="image/png")]
        if output_mode != "text" and not request.turns:
            content.append(_JSON_INSTRUCTION)
        prompt: str | list[m.UserContent] = content
        if all(isinstance(item, str) for item in content):
            prompt = "\n\n".join(item for item in content if isinstance(item, str))
        messages: list[m.ModelMessage] = [m.ModelRequest([m.SystemPromptPart(request.system), m.UserPromptPart(prompt)])]
        for turn in request.turns:
            messages.append(m.ModelResponse([m.TextPart(turn.answer or "(no answer)")]))
            messages.append(m.ModelRequest([m.UserPromptPart(turn.reply)]))
        return messages

    def _build_content(self, request: Request) -> list[m.UserContent]:
        """The parts' text, with a cache point after each of the last few stable ones where the provider keeps such."""
        stable_indices = [k for k, part in enumerate(request.parts) if part.stable]
        cache_points = set(stable_indices[-MAX_CACHE_POINTS:]) if self._supports_cache else set()
        content: list[m.UserContent] = []
        texts: list[str] = []
        for k, part in enumerate(request.parts):
            texts.append(part.text)
            if k in cache_points and part.text:
                content += ["\n\n".join(texts), m.CachePoint()]
                texts = []
        return [*content, "\n\n".join(texts)] if texts else content


def _build_parameters(request: Request, output_mode: str, tools: Sequence[Tool]) -> ModelRequestParameters:
    schema = dict(request.schema)
    parameters = ModelRequestParameters(function_tools=[ToolOf(tool, takes_ctx=False).tool_def for tool in tools])
    if output_mode == "native":
        return replace(parameters, output_mode="native", output_object=OutputObjectDefinition(schema, name=_ANSWER_TOOL))
    if output_mode == "tool":
        answer_tool = ToolDefinition(
            name=_ANSWER_TOOL, parameters_json_schema=schema, description="Gives your answer.", kind="output"
        )
        return replace(parameters, output_mode="tool", output_tools=[answer_tool], allow_text_output=True)
    return parameters
