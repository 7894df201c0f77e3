"""Failures between us and a provider: what is worth another try, how long to wait, and what a person is told."""

from __future__ import annotations

from pydantic_ai import exceptions as ai

TRANSIENT_ERRORS = (
    ai.ModelRateLimitError,
    ai.ModelUnavailableError,  # overloaded too
    ai.ModelServerError,
    ai.ModelConnectionError,  # timeouts of the connection too
    ai.ModelRequestTimeout,
)
"""Failures that may pass by themselves."""
MAX_ATTEMPTS = 5
"""Requests in all for one answer."""
MAX_WAIT_SECONDS = 120.0
"""Seconds: nobody waits longer than this for the next try; a provider that asks for more is left alone and the run pauses."""


def is_transient(error: Exception) -> bool:
    """Return whether another try may do better: after what is known to pass, or an answer that was cut off, garbled or no JSON."""
    if isinstance(error, ai.ModelRequestRejectedError | ai.ModelQuotaExceededError):
        return False
    if isinstance(error, ai.ModelHTTPError) and not isinstance(error, TRANSIENT_ERRORS):
        return error.status_code >= 500 or error.status_code in (408, 409, 425, 429)
    return isinstance(error, (*TRANSIENT_ERRORS, ai.ModelAPIError, ai.UnexpectedModelBehavior))


def compute_delay(error: Exception, attempts: int, first_delay: float) -> float:
    """Compute the seconds before the next try: what the provider asks for (Retry-After), else twice as long each time."""
    retry_after = getattr(error, "retry_after", None)
    return float(retry_after) if retry_after is not None else min(MAX_WAIT_SECONDS, first_delay * 2 ** (attempts - 1))


def is_output_mode_refused(error: Exception) -> bool:
    """Return whether the request was understood and its form refused: a schema, tools or pictures that this model does not take."""
    is_rejected = isinstance(error, ai.ModelHTTPError) and error.status_code in (400, 404, 415, 422, 501)
    other_causes = (
        ai.ModelContextWindowExceededError,
        ai.ModelAuthenticationError,
        ai.ModelNotFoundError,
        ai.ModelQuotaExceededError,
    )
    return is_rejected and not isinstance(error, other_causes)


def format_failure(error: Exception, name: str, attempts: int) -> str:
    """Say what a person is told when no answer can be had. name: the model, as it was asked for."""
    reason = summarize_error(error)
    match error:
        case ai.ModelAuthenticationError():
            return f"{name} did not accept the key ({reason}); set a valid one, then resume the run."
        case ai.ModelQuotaExceededError():
            return f"The account with {name} is used up ({reason}); top it up, then resume the run."
        case ai.ModelNotFoundError():
            return f"There is no such model as {name} ({reason}); start a run with another."
        case ai.ModelContextWindowExceededError():
            return f"The request is longer than {name} takes ({reason}); start a run with a model of a larger context."
        case ai.ModelAPIError() if not is_transient(error):
            return f"{name} refused the request ({reason}); see to that, then resume the run."
        case ai.UserError():
            return f"{name} cannot be asked like this ({reason}); see to that, then resume the run."
    retry_after = getattr(error, "retry_after", None)
    if retry_after is not None and retry_after > MAX_WAIT_SECONDS:
        return f"{name} asks to wait {retry_after:,.0f} s before the next request ({reason}); resume the run then."
    times = "once" if attempts == 1 else f"{attempts} times"
    return f"{name} gave no answer, asked {times} ({reason}); resume the run when it is back."


def summarize_error(error: Exception) -> str:
    """Say what happened in a few words, on one line, with the provider's own where it said something."""
    body = getattr(error, "body", None)
    while isinstance(body, dict):
        body = body.get("error") or body.get("message") or next((value for value in body.values() if isinstance(value, str)), None)
    status = f"{error.status_code} " if isinstance(error, ai.ModelHTTPError) else ""
    text = body if isinstance(body, str) and body.strip() else str(error) or type(error).__name__
    line = "".join(letter if letter.isprintable() else " " for letter in text[:400])
    line = " ".join(line.split())
    return status + (line if len(line) <= 160 else line[:157] + "...")
