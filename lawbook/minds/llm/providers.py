"""Models by name: which providers there are, and the one sentence where one cannot be had. Loads nothing until one is named."""

from __future__ import annotations

from lawbook.core.plugins import suggest_name
from lawbook.errors import UsageError
from lawbook.minds.llm.model import Model

PROVIDERS = {
    "anthropic": "anthropic:MODEL, with ANTHROPIC_API_KEY",
    "openai": "openai:MODEL, with OPENAI_API_KEY",
    "google": "google:MODEL, with GOOGLE_API_KEY",
    "openrouter": "openrouter:VENDOR/MODEL, with OPENROUTER_API_KEY",
    "ollama": "ollama:MODEL, a server on this machine or at OLLAMA_BASE_URL",
    "openai-compatible": "openai-compatible:URL#MODEL, such as vLLM or llama.cpp",
}


def connect(address: str) -> Model:
    """Make the model at `provider:MODEL`, or `files:DIR`.

    Raises UsageError for an unknown provider, a missing model, extra or key.
    """
    provider, _, argument = address.partition(":")
    if provider == "files":
        from lawbook.minds.llm.file_queue import make_file_queue_model

        return make_file_queue_model(argument)
    if provider not in PROVIDERS:
        suggestion = suggest_name(provider, PROVIDERS)
        raise UsageError(f"There is no provider {provider!r} of models.{suggestion} There is: {', '.join(PROVIDERS)}.")
    if not argument:
        raise UsageError(f"{provider} needs the name of a model: {PROVIDERS[provider].partition(',')[0]}.")
    try:
        from lawbook.minds.llm import pydantic_model
    except ImportError as error:
        raise UsageError(
            f"Language models need {error.name}, which is not installed; pip install 'lawbook[llm]' (in a clone: "
            "pip install '.[llm]') brings it."
        ) from error
    model: Model = pydantic_model.connect(address)
    return model
