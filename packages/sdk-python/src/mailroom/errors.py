"""The exceptions of this package. `mailroom.error_codes` has one for each error code of the API."""

from __future__ import annotations

from typing import Any, Dict, List, Optional

from .types import Error, ErrorDetails


class MailroomError(Exception):
    """The service responded with an error.

    Codes known to this version have classes of their own, such as `NotFoundError`. Codes that the service
    adds later raise this class.
    """

    status: int
    code: str
    message: str
    request_id: Optional[str]
    """The request's id in the log of the service; None if a gateway responded."""
    fix: Optional[str]
    """What to do next, in one sentence."""
    details: List[ErrorDetails]
    """The invalid fields, each with `path` and `message`."""
    retry_after: Optional[int]
    """Whole seconds after which a retry may succeed."""
    body: Error
    """The complete error body, with the additional fields of some codes."""

    def __init__(
        self,
        message: str,
        *,
        status: int,
        code: str,
        request_id: Optional[str] = None,
        fix: Optional[str] = None,
        details: Optional[List[ErrorDetails]] = None,
        retry_after: Optional[int] = None,
        body: Optional[Error] = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.status = status
        self.code = code
        self.request_id = request_id
        self.fix = fix
        self.details = details or []
        self.retry_after = retry_after
        self.body = body or Error()

    def __str__(self) -> str:
        named = "".join(f" {one.path}: {one.message}." for one in self.details)
        asked = f", request {self.request_id}" if self.request_id else ""
        return f"{self.message}{named} ({self.status} {self.code}{asked})"

    def __reduce__(self) -> Any:
        return (_restore, (type(self), self.message, self.__dict__))


def _restore(kind: Any, message: str, fields: Dict[str, Any]) -> MailroomError:
    error: MailroomError = kind.__new__(kind, message)
    error.__dict__.update(fields)
    return error


class MailroomConnectionError(Exception):
    """There was no response, or the response cannot be parsed; `__cause__` has the reason."""


class MailroomTimeoutError(MailroomConnectionError):
    """The response was not complete within the timeout."""


class WebhookVerificationError(Exception):
    """A webhook request was not made by the service, or is too old.

    `code` is `missing_header` (the signature, timestamp or id), `bad_timestamp` (not a number of
    seconds), `too_old` (possibly a replay, or the clocks differ), `wrong_signature`, or `not_json`
    (the signature is valid, but the body is not JSON).
    """

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code
