"""A language model with a script, and the answers that it writes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart
from pydantic_ai.models.function import AgentInfo, FunctionModel

from lawbook.core.hypothesis import RULEBOOK, Hypothesis
from lawbook.minds.llm.model import ModelReply, Request
from lawbook.minds.llm.model_address import ModelOptions
from lawbook.minds.llm.pydantic_model import PydanticModel

Script = Mapping[str, Sequence[str] | Callable[[Request], str]]
"""By operator: answers in order, the last again and again; or a function of the request."""


class ScriptedModel(PydanticModel):
    """A Model: pydantic-ai's FunctionModel behind ours. Keeps the requests it was sent. looks: tool calls it makes, one a round,
    before its first answer to `reflect`. dies_at: the operator at which the process is interrupted."""

    dies_at = ""

    def __init__(self, script: Script, looks: Sequence[ToolCallPart] = ()) -> None:
        super().__init__(
            FunctionModel(self._said), name="scripted", options=ModelOptions(output_mode="text", supports_tools=bool(looks))
        )
        self.script, self.looks = dict(script), list(looks)
        self.requests: list[Request] = []
        self.messages: list[list[ModelMessage]] = []

    def ask(self, request: Request) -> ModelReply:
        self.requests.append(request)
        if request.op == self.dies_at:
            raise KeyboardInterrupt
        return super().ask(request)

    async def _said(self, messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        request = self.requests[-1]
        self.messages.append(messages)
        if self.looks and request.op == "reflect":
            assert {tool.name for tool in info.function_tools} == {tool.__name__ for tool in request.tools}
            return ModelResponse([self.looks.pop(0)])
        answers = self.script[request.op]
        earlier = sum(one.op == request.op for one in self.requests) - 1
        text = answers(request) if callable(answers) else answers[min(earlier, len(answers) - 1)]
        return ModelResponse([TextPart(text)])

    @property
    def ops(self) -> list[str]:
        return [request.op for request in self.requests]


def book(hypothesis: Hypothesis, chatter: str = "") -> str:
    return f"{chatter}\n\n{RULEBOOK}\n```markdown\n{hypothesis.rulebook}```\n"


def program(hypothesis: Hypothesis, chatter: str = "") -> str:
    return f"{chatter}\n\n" + "\n".join(f"{name}\n```python\n{source}```\n" for name, source in hypothesis.files.items())


def edit(name: str, old: str, new: str) -> str:
    return f"{name}\n<<<<<<< SEARCH\n{old}\n=======\n{new}\n>>>>>>> REPLACE\n"


def reflection(decision: str, diagnosis: str = "as it seems") -> str:
    return f"DECISION: {decision}\nDIAGNOSIS: {diagnosis}\n"


FAITHFUL = "R1: engine:1, there\nR2: engine:2, there\nR3: engine:3, there\nVERDICT: faithful\n"
RETAIN = reflection("retain")
