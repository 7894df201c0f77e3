"""From an address, `provider:MODEL?option=value`, to a pydantic-ai model and how it is to be asked. Sends nothing."""

from __future__ import annotations

import os
import re
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from pydantic_ai.exceptions import UserError
from pydantic_ai.models import Model as Provided
from pydantic_ai.models import infer_model

from lawbook.errors import UsageError

OLLAMA_URL = "http://localhost:11434/v1"
KEY_VARIABLE = "OPENAI_COMPATIBLE_API_KEY"
REQUEST_TIMEOUT_SECONDS = 900.0
"""For one request, unless `timeout` says otherwise: a model that reasons may take minutes."""

_OUTPUTS = ("auto", "native", "tool", "text")
_EFFORTS = ("off", "minimal", "low", "medium", "high", "xhigh")
_LOCAL_PROVIDERS = ("openai-compatible", "ollama")


@dataclass(frozen=True)
class ModelOptions:
    """How a model is asked.

    output_mode: text, native (a JSON schema), tool (an output tool), or auto: native where the model can, for short answers;
    rulebooks and programs are asked for as text, which needs no escaping. supports_tools, supports_images: does it take them;
    None: as its profile says. settings: pydantic-ai's ModelSettings.
    """

    output_mode: str = "auto"
    supports_tools: bool | None = None
    supports_images: bool | None = None
    settings: Mapping[str, Any] | None = None


def make_model(address: str) -> tuple[Provided, ModelOptions]:
    """Raises UsageError with one sentence for a missing key or extra, or an option that is none."""
    provider, _, rest = address.partition(":")
    url, mark, tail = rest.rpartition("#")
    name, _, query = tail.partition("?")
    target, options = url + mark + name, _parse_options(query, local=provider in _LOCAL_PROVIDERS)
    try:
        return _make_provider_model(provider, target), options
    except (UserError, ImportError, ValueError) as error:
        if key_match := re.search(r"`?([A-Z][A-Z_]*_(?:API_)?KEY)`? environment variable", str(error)):
            raise UsageError(f"{provider}:{target} needs a key: set {key_match[1]}.") from error
        raise UsageError(f"{provider}:{target} cannot be had: {' '.join(str(error).split())[:300]}") from error
    except Exception as error:  # a provider's own client refuses a missing key in its own way
        if "api_key" in str(error) or "credentials" in str(error).lower():
            raise UsageError(f"{provider}:{target} cannot be had without its key: {' '.join(str(error).split())[:300]}") from error
        raise


def _make_provider_model(provider: str, target: str) -> Provided:
    match provider:
        case "openai-compatible":
            from pydantic_ai.models.openai import OpenAIChatModel
            from pydantic_ai.providers.openai_compatible import OpenAICompatibleProvider

            url, _, name = target.partition("#")
            if urlsplit(url).scheme not in ("http", "https") or not urlsplit(url).netloc or not name:
                raise UsageError(
                    f"{target!r} is no address of a model; write openai-compatible:http://127.0.0.1:8000/v1#model, "
                    "with the name that the server calls it by after the #."
                )
            key = os.environ.get(KEY_VARIABLE) or "none"
            return OpenAIChatModel(name, provider=OpenAICompatibleProvider("openai-compatible", base_url=url, api_key=key))
        case "ollama":
            from pydantic_ai.models.ollama import OllamaModel
            from pydantic_ai.providers.ollama import OllamaProvider

            return OllamaModel(target, provider=OllamaProvider(base_url=os.environ.get("OLLAMA_BASE_URL", OLLAMA_URL)))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about names that will change in a later version: the version is pinned
        return infer_model(f"{provider}:{target}")


def _parse_options(query: str, *, local: bool) -> ModelOptions:
    options = dict(parse_qsl(query, keep_blank_values=True))
    settings: dict[str, Any] = {"max_retries": 0}  # tried again by us, who count it
    seconds = _pop_number(options, "timeout", float)
    settings["timeout"] = settings["request_timeout"] = REQUEST_TIMEOUT_SECONDS if seconds is None else seconds
    for name, kind in (("max_tokens", int), ("temperature", float), ("seed", int)):
        value = _pop_number(options, name, kind)
        if value is not None:
            settings[name] = value
    thinking = options.pop("thinking", None)
    if thinking is not None:
        _require_choice("thinking", thinking, _EFFORTS)
        settings["thinking"] = False if thinking == "off" else thinking
    output = options.pop("output", "auto")
    _require_choice("output", output, _OUTPUTS)
    tools, pictures = (_pop_flag(options, name) for name in ("tools", "images"))
    if options:
        known = "output, tools, images, max_tokens, temperature, thinking, seed, timeout"
        raise UsageError(f"There is no option {next(iter(options))!r} of a model; there is {known}.")
    if local:  # nobody knows what such a server takes; a schema that it refuses is found out, a tool that it garbles is not
        tools, pictures = tools or False, pictures or False
    return ModelOptions(output, tools, pictures, settings)


def _pop_number[Number: (int, float)](options: dict[str, str], name: str, kind: type[Number]) -> Number | None:
    text = options.pop(name, None)
    if text is None:
        return None
    try:
        value = kind(text)
    except ValueError:
        raise UsageError(f"The option {name} of a model is a number, not {text!r}.") from None
    if not 0 <= value < 1e12:
        raise UsageError(f"The option {name} of a model cannot be {text}.")
    return value


def _pop_flag(options: dict[str, str], name: str) -> bool | None:
    text = options.pop(name, None)
    if text is not None:
        _require_choice(name, text, ("yes", "no"))
    return None if text is None else text == "yes"


def _require_choice(name: str, text: str, choices: tuple[str, ...]) -> None:
    if text not in choices:
        raise UsageError(f"The option {name} of a model is one of {', '.join(choices)}, not {text!r}.")
