"""Models over real HTTP: a provider on 127.0.0.1 that misbehaves in every way providers do, and the bill that comes of it."""

from __future__ import annotations

import base64
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest
from model_server import Does, Provider, fails, provider, says

from lawbook.errors import MindError, UsageError
from lawbook.minds.llm.model import ImagePart, ModelError, Part, Request, Turn

pydantic_ai = pytest.importorskip("pydantic_ai")

from pydantic_ai import models  # noqa: E402
from pydantic_ai.messages import ModelResponse, TextPart, ToolCallPart  # noqa: E402
from pydantic_ai.models.function import AgentInfo, FunctionModel  # noqa: E402

from lawbook.minds.llm.providers import PROVIDERS  # noqa: E402
from lawbook.minds.llm.providers import connect as connect_any  # noqa: E402
from lawbook.minds.llm.pydantic_model import PydanticModel, connect  # noqa: E402

KEYS = ("ANTHROPIC_API_KEY", "OPENAI_API_KEY", "GOOGLE_API_KEY", "GEMINI_API_KEY", "OPENROUTER_API_KEY")
SCHEMA = {
    "type": "object",
    "properties": {"decision": {"type": "string"}},
    "required": ["decision"],
    "additionalProperties": False,
}
ASK = Request("reflect", "You are a scientist.", (Part("case", "The case.", True), Part("news", "The news.")), SCHEMA)


@pytest.fixture(autouse=True)
def nothing_leaves(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Real requests are allowed, to 127.0.0.1 alone: no keys, and a proxy where nobody listens for everything else."""
    for name in KEYS:
        monkeypatch.delenv(name, raising=False)
    for name in ("http_proxy", "https_proxy", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
        monkeypatch.delenv(name.upper(), raising=False)
    monkeypatch.setenv("no_proxy", "127.0.0.1,localhost")
    monkeypatch.delenv("NO_PROXY", raising=False)
    monkeypatch.setattr(models, "ALLOW_MODEL_REQUESTS", True)
    yield


def compatible(served: Provider, options: str = "", *, name: str = "small") -> PydanticModel:
    model = connect(f"openai-compatible:{served.url}/v1#{name}{options}")
    model._sleep = SLEPT.append
    SLEPT.clear()
    return model


SLEPT: list[float] = []
"""Seconds that would have been waited."""


# -- what is asked, and what it cost -------------------------------------------------------------------------------------------


def test_one_call_is_one_request_and_its_tokens_are_counted() -> None:
    with provider(says("DECISION: retain")) as served:
        reply = compatible(served).ask(ASK)
    assert reply.text == "DECISION: retain"
    ((path, asked, _),) = served.asked
    assert path == "/v1/chat/completions" and asked["model"] == "small"
    assert [message["role"] for message in asked["messages"]] == ["system", "user"]
    assert asked["messages"][0]["content"] == "You are a scientist."
    assert asked["messages"][1]["content"].startswith("The case.\n\nThe news.")
    told = dict(reply.receipt)
    assert told.pop("seconds") > 0  # type: ignore[operator]
    assert told == {
        "model": f"openai-compatible:{served.url}/v1#small",
        "requests": 1,
        "input_tokens": 1000,
        "cached_tokens": 400,
        "output_tokens": 50,
        "reasoning_tokens": 20,
        "finish": "stop",
    }  # and no dollars: nobody knows what that server costs


def test_a_name_does_not_make_a_price_on_a_server_of_ones_own() -> None:
    with provider(says("x")) as served:
        assert "dollars" not in compatible(served, name="gpt-4o").ask(ASK).receipt


def test_a_schema_is_asked_for_where_it_is_taken_and_given_up_where_it_is_refused() -> None:
    def by(asked: dict[str, Any]) -> Does:
        return fails(400, "response_format is not supported") if "response_format" in asked else says("DECISION: retain")

    with provider(says('{"decision": "retain"}')) as served:
        assert compatible(served).ask(ASK).text == '{"decision": "retain"}'
    assert served.asked[0][1]["response_format"]["json_schema"]["schema"]["properties"] == SCHEMA["properties"]
    with provider(by=by) as served:
        model = compatible(served)
        first, second = model.ask(ASK), model.ask(ASK)
    assert first.text == second.text == "DECISION: retain"
    assert (first.receipt["requests"], first.receipt["failures"]) == (2, 1) and second.receipt["requests"] == 1
    assert ["response_format" in asked for _, asked, _ in served.asked] == [True, False, False]
    assert "JSON" in served.asked[0][1]["messages"][1]["content"] and "JSON" not in served.asked[1][1]["messages"][1]["content"]
    with provider(says("x")) as served:
        compatible(served, "?output=text").ask(ASK)
        compatible(served).ask(Request("compile", "s", ASK.parts, SCHEMA))  # whole texts need no escaping
    assert not any("response_format" in asked for _, asked, _ in served.asked)


def test_an_answer_through_a_tool_is_its_json() -> None:
    with provider(Does(calls=(("answer", {"decision": "retain"}),))) as served:
        assert json.loads(compatible(served, "?output=tool").ask(ASK).text) == {"decision": "retain"}
    assert [tool["function"]["name"] for tool in served.asked[0][1]["tools"]] == ["answer"]


def test_tools_are_called_until_the_rounds_are_spent() -> None:
    seen: list[str] = []

    def python(code: str) -> str:
        """Run it.

        Args:
            code: a script
        """
        seen.append(code)
        return f"out {len(seen)}"

    looking = Does(calls=(("python", {"code": "print(1)"}),))
    bad = Does(calls=(("python", {"cod": 1}), ("nothing", {})))
    request = Request("reflect", "s", ASK.parts, tools=(python,), max_tool_calls=4)
    with provider(looking, bad, looking, looking, says("done")) as served:
        reply = compatible(served, "?tools=yes").ask(request)
    assert reply.text == "done" and seen == ["print(1)"] * 2
    assert (reply.receipt["requests"], reply.receipt["tool_calls"], reply.receipt["input_tokens"]) == (5, 5, 5000)
    last = served.asked[-1][1]
    told = [message["content"] for message in last["messages"] if message["role"] == "tool"]
    assert told[0] == "out 1" and "not the arguments" in told[1] and "There is no tool 'nothing'" in told[2]
    assert told[3:] == ["out 2", "No more looks; answer now."]
    assert last["tool_choice"] == "none" and served.asked[0][1].get("tool_choice") != "none"
    assert served.asked[0][1]["tools"][0]["function"]["parameters"]["properties"]["code"]["description"] == "a script"
    with provider(says("x")) as served:
        assert not compatible(served).supports_tools  # unless it is said: such a server may garble them
        compatible(served).ask(request)
    assert "tools" not in served.asked[0][1]


def test_a_model_that_only_wants_to_look_ends_all_the_same() -> None:
    def look() -> str:
        """Look."""
        return "x"

    with provider(Does(calls=(("look", {}),))) as served:
        reply = compatible(served, "?tools=yes").ask(Request("reflect", "s", ASK.parts, tools=(look,), max_tool_calls=2))
    assert reply.text == "" and len(served.asked) == 4


def test_turns_and_pictures_are_sent() -> None:
    png = base64.b64decode("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==")
    request = Request("reflect", "s", ASK.parts, turns=(Turn("hm", "Answer again."), Turn("", "And again.")))
    request = Request(**{**vars(request), "images": (ImagePart("now:", png),)})
    with provider(says("x")) as served:
        compatible(served, "?images=yes").ask(request)
        compatible(served).ask(request)
    with_picture, without = (asked["messages"] for _, asked, _ in served.asked)
    content = with_picture[1]["content"]
    assert content[-2]["text"] == "now:" and content[-1]["image_url"]["url"].startswith("data:image/png;base64,")
    assert isinstance(without[1]["content"], str) and "now:" not in without[1]["content"]
    assert [(message["role"], message["content"]) for message in without[2:]] == [
        ("assistant", "hm"),
        ("user", "Answer again."),
        ("assistant", "(no answer)"),
        ("user", "And again."),
    ]


def test_anthropic_keeps_the_stable_parts_in_its_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    parts = (*(Part(f"p{k}", f"Part {k}.", k < 5) for k in range(7)),)
    with provider(says("x"), Does(calls=(("look", {}),)), says("y")) as served:
        monkeypatch.setenv("ANTHROPIC_BASE_URL", served.url)
        monkeypatch.setenv("ANTHROPIC_API_KEY", "secret")
        model = connect("anthropic:claude-sonnet-4-6?max_tokens=2000")
        assert model.supports_tools and model.supports_images
        reply = model.ask(Request("compile", "sys", parts))
    content = served.asked[0][1]["messages"][0]["content"]
    assert [(block["text"], "cache_control" in block) for block in content] == [
        ("Part 0.\n\nPart 1.\n\nPart 2.", True),
        ("Part 3.", True),
        ("Part 4.", True),
        ("Part 5.\n\nPart 6.", False),
    ]
    assert served.asked[0][1]["max_tokens"] == 2000 and "secret" in str(served.asked[0][2])
    assert (reply.receipt["input_tokens"], reply.receipt["cached_tokens"], reply.receipt["output_tokens"]) == (1000, 400, 50)
    assert reply.receipt["dollars"] == pytest.approx((600 * 3 + 400 * 0.3 + 50 * 15) / 1e6)


def test_openai_answers_over_its_own_interface_with_its_price(monkeypatch: pytest.MonkeyPatch) -> None:
    with provider(says("x")) as served:
        monkeypatch.setenv("OPENAI_BASE_URL", f"{served.url}/v1")
        monkeypatch.setenv("OPENAI_API_KEY", "secret")
        receipt = connect("openai:gpt-5?thinking=low").ask(ASK).receipt
    assert served.asked[0][0] == "/v1/responses" and served.asked[0][1]["reasoning"]["effort"] == "low"
    assert receipt["reasoning_tokens"] == 20
    assert receipt["dollars"] == pytest.approx((600 * 1.25 + 400 * 0.125 + 50 * 10) / 1e6)


def test_ollama_is_asked_on_this_machine_or_where_it_is_said_to_be(monkeypatch: pytest.MonkeyPatch) -> None:
    with provider(says("x")) as served:
        monkeypatch.setenv("OLLAMA_BASE_URL", f"{served.url}/v1")
        assert connect("ollama:qwen3:8b").ask(ASK).receipt["model"] == "ollama:qwen3:8b"
    assert served.asked[0][1]["model"] == "qwen3:8b"
    monkeypatch.delenv("OLLAMA_BASE_URL")
    assert connect("ollama:qwen3:8b")._model.base_url.startswith("http://localhost:11434/v1")


# -- what goes wrong -------------------------------------------------------------------------------------------------------------

JSON = b'{"id": "x", "object": "chat.completion", "choices": [{"index": 0, "mess'


@pytest.mark.parametrize(
    ("trouble", "waits"),
    [
        (fails(429, "slow down", Retry_After="7"), [7.0]),
        (fails(429, "slow down", retry_after_ms="1500"), [1.5]),
        (fails(429, "slow down"), [2.0]),
        (fails(529, "Overloaded", kind="overloaded_error"), [2.0]),
        (fails(503, "overloaded", Retry_After="3"), [3.0]),
        (fails(500), [2.0]),
        (fails(502), [2.0]),
        (Does(status=504, body=b"<html>gateway timeout</html>", headers={"content-type": "text/html"}), [2.0]),
        (Does(body=JSON), [2.0]),  # malformed
        (Does(body=b"<html>hello</html>", headers={"content-type": "text/html"}), [2.0]),
        (Does(body=b""), [2.0]),
        (Does(body=b"{}"), [2.0]),
        (Does(body=b'{"choices": []}'), [2.0]),
        (says("never arrives whole", cut=60), [2.0]),  # the connection drops halfway
        (says("never arrives", cut=0), [2.0]),
    ],
    ids=lambda case: f"{case.status} {(case.body or b'cut')[:24]!r}" if isinstance(case, Does) else "",
)
def test_what_passes_is_waited_for_and_counted(trouble: Does, waits: list[float]) -> None:
    with provider(trouble, says("DECISION: retain")) as served:
        reply = compatible(served).ask(ASK)
    assert reply.text == "DECISION: retain" and waits == SLEPT
    told = reply.receipt
    assert (told["requests"], told["retries"], told["failures"], told["waited"]) == (2, 1, 1, sum(waits))


def test_a_provider_that_is_silent_is_given_up_after_its_time() -> None:
    with provider(says("late", slow=1.5), says("in time")) as served:
        reply = compatible(served, "?timeout=0.4").ask(ASK)
    assert reply.text == "in time" and reply.receipt["failures"] == 1 and len(served.asked) == 2


def test_waits_grow_and_end_in_a_sentence_that_says_how_to_go_on() -> None:
    with provider(fails(503, "down for maintenance")) as served:
        model = compatible(served)
        with pytest.raises(ModelError) as caught:
            model.ask(ASK)
    assert len(served.asked) == 5 and SLEPT == [2.0, 4.0, 8.0, 16.0]
    assert str(caught.value).endswith("gave no answer, asked 5 times (503 down for maintenance); resume the run when it is back.")
    told = caught.value.receipt
    assert (told["requests"], told["failures"], told["retries"]) == (5, 5, 4) and "input_tokens" not in told
    assert isinstance(caught.value, MindError)


@pytest.mark.parametrize(
    ("trouble", "said"),
    [
        (fails(401, "bad key", kind="authentication_error"), "did not accept the key"),
        (fails(403, "not for you", kind="permission_error"), "not for you"),
        (fails(402, "no credit"), "is used up"),
        (fails(429, "no more", kind="insufficient_quota", code="insufficient_quota"), "is used up"),
        (fails(404, "no such model", code="model_not_found"), "There is no such model"),
        (fails(400, "too long", code="context_length_exceeded"), "longer than"),
        (fails(400, "what?"), "refused the request (400 what?)"),
        (fails(413, "too large"), "413"),
        (fails(429, "come back tomorrow", Retry_After="86400"), "asks to wait 86,400 s"),
    ],
    ids=lambda case: str(case.status) if isinstance(case, Does) else "",
)
def test_what_does_not_pass_is_not_tried_again(trouble: Does, said: str) -> None:
    with provider(trouble) as served:
        model = compatible(served, "?output=text")
        with pytest.raises(ModelError) as caught:
            model.ask(ASK)
    assert said in str(caught.value) and str(caught.value).endswith(".") and not SLEPT and len(served.asked) == 1
    assert "run" in str(caught.value).rpartition(";")[2]  # what to do with it


def test_nobody_there(monkeypatch: pytest.MonkeyPatch) -> None:
    with provider(says("x")) as served:
        pass
    model = compatible(served)
    with pytest.raises(ModelError, match=r"asked 5 times \(Connection error"):
        model.ask(ASK)


@pytest.mark.parametrize(("finish", "told"), [("length", "length"), ("content_filter", "refused"), ("stop", "stop")])
def test_a_cut_or_refused_answer_comes_back_with_what_became_of_it(finish: str, told: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with provider(says("half an", finish=finish)) as served:
        reply = compatible(served).ask(ASK)
        monkeypatch.setenv("ANTHROPIC_BASE_URL", served.url)
        monkeypatch.setenv("ANTHROPIC_API_KEY", "secret")
        other = connect("anthropic:claude-sonnet-4-6").ask(ASK)
        assert served.asked[-1][1]["stream"]  # it may be long, and is streamed then
    assert reply.receipt["finish"] == other.receipt["finish"] == told and reply.receipt["output_tokens"] == 50
    assert reply.text in ("half an", "")  # a refusal may hold none of it


def test_anthropic_overloaded_and_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    with provider(fails(529, "Overloaded", kind="overloaded_error"), fails(429, "rate", Retry_After="4"), says("x")) as served:
        monkeypatch.setenv("ANTHROPIC_BASE_URL", served.url)
        monkeypatch.setenv("ANTHROPIC_API_KEY", "secret")
        model, slept = connect("anthropic:claude-sonnet-4-6"), list[float]()
        model._sleep = slept.append
        reply = model.ask(ASK)
    assert reply.text == "x" and slept == [2.0, 4.0] and reply.receipt["requests"] == 3


@pytest.mark.parametrize("cut", [0, 40, 700])
def test_a_stream_that_breaks_off_is_no_answer(cut: int, monkeypatch: pytest.MonkeyPatch) -> None:
    with provider(says("never arrives whole " * 20, cut=cut), says("x")) as served:
        monkeypatch.setenv("ANTHROPIC_BASE_URL", served.url)
        monkeypatch.setenv("ANTHROPIC_API_KEY", "secret")
        model = connect("anthropic:claude-sonnet-4-6")
        model._sleep = lambda seconds: None
        reply = model.ask(ASK)
    assert reply.text == "x" and reply.receipt["failures"] == 1


def test_a_tool_that_says_stop_stops_the_call_with_its_bill() -> None:
    def look() -> str:
        """Look."""
        raise MindError("Enough.")

    with provider(Does(calls=(("look", {}),))) as served, pytest.raises(ModelError, match=r"Enough\.") as caught:
        compatible(served, "?tools=yes").ask(Request("reflect", "s", ASK.parts, tools=(look,), max_tool_calls=2))
    assert caught.value.receipt["input_tokens"] == 1000


# -- addresses ---------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["anthropic", "openai", "google", "openrouter"])
def test_a_missing_key_is_one_sentence(name: str) -> None:
    with pytest.raises(UsageError, match="API_KEY"):
        connect_any(f"{name}:some-model")


@pytest.mark.parametrize("name", ["anthropic", "openai", "google", "openrouter"])
def test_with_a_key_nothing_is_sent_before_it_is_asked(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for key in KEYS:
        monkeypatch.setenv(key, "secret")
    assert name in PROVIDERS
    model = connect_any(f"{name}:vendor/some-model?thinking=high&max_tokens=100")
    assert model.name == f"{name}:vendor/some-model"


@pytest.mark.parametrize(
    ("address", "said"),
    [
        ("openai-compatible:127.0.0.1:8000#small", "is no address of a model"),
        ("openai-compatible:http://127.0.0.1:8000/v1", "is no address of a model"),
        ("openai-compatible:http://127.0.0.1:8000/v1#small?colour=red", "There is no option 'colour'"),
        ("openai-compatible:http://127.0.0.1:8000/v1#small?tools=maybe", "one of yes, no, not 'maybe'"),
        ("openai-compatible:http://127.0.0.1:8000/v1#small?max_tokens=many", "is a number, not 'many'"),
        ("openai-compatible:http://127.0.0.1:8000/v1#small?max_tokens=-1", "cannot be -1"),
        ("openai-compatible:http://127.0.0.1:8000/v1#small?output=xml", "is one of auto, native, tool, text"),
        ("ollama:qwen?thinking=hard", "is one of off, minimal"),
        ("antropic:claude", "There is no provider 'antropic'"),
    ],
)
def test_a_wrong_address_is_one_sentence(address: str, said: str) -> None:
    with pytest.raises(UsageError) as caught:
        connect_any(address)
    assert said in str(caught.value)


def test_settings_of_the_address_are_sent() -> None:
    with provider(says("x")) as served:
        compatible(served, "?max_tokens=77&temperature=0.5&seed=3").ask(ASK)
    asked = served.asked[0][1]
    assert (asked.get("max_completion_tokens", asked.get("max_tokens")), asked["temperature"], asked["seed"]) == (77, 0.5, 3)


def test_without_the_extra_there_is_a_sentence() -> None:
    code = """
import sys
sys.modules["pydantic_ai"] = None
from lawbook.errors import UsageError
from lawbook.minds.registry import make_mind
try:
    make_mind("llm:anthropic:x")
except UsageError as error:
    print(error)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=dict(os.environ))
    assert "lawbook[llm]" in done.stdout


# -- any of pydantic-ai's models --------------------------------------------------------------------------------------------------


def test_a_function_can_be_the_model(monkeypatch: pytest.MonkeyPatch) -> None:
    """What scripts whole games in tests; nothing is sent anywhere."""
    monkeypatch.setattr(models, "ALLOW_MODEL_REQUESTS", False)
    infos: list[AgentInfo] = []

    def script(messages: list[Any], info: AgentInfo) -> ModelResponse:
        infos.append(info)
        if len(messages) == 1:
            return ModelResponse([ToolCallPart("look", {"n": 2})])
        return ModelResponse([TextPart(f"saw {messages[-1].parts[0].content}")])

    def look(n: int) -> str:
        """Look."""
        return "x" * n

    reply = PydanticModel(FunctionModel(script)).ask(Request("reflect", "s", ASK.parts, SCHEMA, tools=(look,), max_tool_calls=3))
    assert reply.text == "saw xx" and reply.receipt["requests"] == 2 and "dollars" not in reply.receipt
    assert [tool.name for tool in infos[0].function_tools] == ["look"]
