"""What can go wrong between us and a provider: what is worth another try, how long to wait, and what a person is told."""

from __future__ import annotations

from pydantic_ai import exceptions as ai

AGAIN = (
    ai.ModelRateLimitError,
    ai.ModelUnavailableError,  # overloaded too
    ai.ModelServerError,
    ai.ModelConnectionError,  # timeouts of the connection too
    ai.ModelRequestTimeout,
)
"""Failures that may pass by themselves."""
TRIES = 5
"""Requests in all for one answer."""
LONGEST = 120.0
"""Seconds: nobody waits longer than this for the next try; a provider that asks for more is left alone and the run pauses."""


def passes(error: Exception) -> bool:
    """Whether another try may do better: what is known to pass, and answers that were no answers (cut off, garbled, no JSON)."""
    if isinstance(error, ai.ModelRequestRejectedError | ai.ModelQuotaExceededError):
        return False
    if isinstance(error, ai.ModelHTTPError) and not isinstance(error, AGAIN):
        return error.status_code >= 500 or error.status_code in (408, 409, 425, 429)
    return isinstance(error, (*AGAIN, ai.ModelAPIError, ai.UnexpectedModelBehavior))


def wait(error: Exception, tries: int, first: float) -> float:
    """Seconds before the next try: what the provider asks for (Retry-After), else twice as long each time."""
    asked = getattr(error, "retry_after", None)
    return float(asked) if asked is not None else min(LONGEST, first * 2 ** (tries - 1))


def shape_refused(error: Exception) -> bool:
    """Whether the request was understood and its form refused: a schema, tools or pictures that this model does not take."""
    rejected = isinstance(error, ai.ModelHTTPError) and error.status_code in (400, 404, 415, 422, 501)
    about_us = (ai.ModelContextWindowExceededError, ai.ModelAuthenticationError, ai.ModelNotFoundError, ai.ModelQuotaExceededError)
    return rejected and not isinstance(error, about_us)


def sentence(error: Exception, name: str, tries: int) -> str:
    """What a person is told when no answer can be had. name: the model, as it was asked for."""
    said = short(error)
    match error:
        case ai.ModelAuthenticationError():
            return f"{name} did not accept the key ({said}); set a valid one, then resume the run."
        case ai.ModelQuotaExceededError():
            return f"The account with {name} is used up ({said}); top it up, then resume the run."
        case ai.ModelNotFoundError():
            return f"There is no such model as {name} ({said}); start a run with another."
        case ai.ModelContextWindowExceededError():
            return f"The request is longer than {name} takes ({said}); start a run with a model of a larger context."
        case ai.ModelAPIError() if not passes(error):
            return f"{name} refused the request ({said}); see to that, then resume the run."
        case ai.UserError():
            return f"{name} cannot be asked like this ({said}); see to that, then resume the run."
    asked = getattr(error, "retry_after", None)
    if asked is not None and asked > LONGEST:
        return f"{name} asks to wait {asked:,.0f} s before the next request ({said}); resume the run then."
    times = "once" if tries == 1 else f"{tries} times"
    return f"{name} gave no answer, asked {times} ({said}); resume the run when it is back."


def short(error: Exception) -> str:
    """What happened in a few words, on one line, with the provider's own where it said something."""
    body = getattr(error, "body", None)
    while isinstance(body, dict):
        body = body.get("error") or body.get("message") or next((v for v in body.values() if isinstance(v, str)), None)
    status = f"{error.status_code} " if isinstance(error, ai.ModelHTTPError) else ""
    text = body if isinstance(body, str) and body.strip() else str(error) or type(error).__name__
    line = "".join(letter if letter.isprintable() else " " for letter in text[:400])
    line = " ".join(line.split())
    return status + (line if len(line) <= 160 else line[:157] + "...")
