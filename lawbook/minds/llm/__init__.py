"""Frozen language models as minds, by any provider: `llm:PROVIDER:MODEL`."""

from __future__ import annotations

from collections.abc import Iterable

from lawbook.errors import UsageError
from lawbook.minds.base import Mind
from lawbook.minds.llm import providers


class LLMSource:
    """The entry point `llm`."""

    summary = "A frozen language model: reflects, revises, compiles, judges, simplifies and explores (extra llm)."
    pictures = True
    package = "pydantic_ai"

    def names(self) -> Iterable[tuple[str, str]]:
        """Return the forms of address: one for each provider."""
        return [
            (f"llm:{description.partition(',')[0]}", description.partition(",")[2].strip())
            for description in providers.PROVIDERS.values()
        ]

    def make(self, argument: str, *, images: bool = False) -> Mind:
        """Make the mind of `PROVIDER:MODEL`. images: show it pictures too, where it takes them. Raises UsageError."""
        from lawbook.minds.llm.language_mind import LLMMind

        if not argument:
            raise UsageError("The mind llm needs a model: --mind llm:PROVIDER:MODEL; `lawbook minds` lists the providers.")
        return LLMMind(f"llm:{argument}", providers.connect(argument), images=images)


SOURCE = LLMSource()
