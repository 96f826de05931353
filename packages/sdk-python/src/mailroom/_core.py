"""Shared by both clients: building requests, deciding on retries, and interpreting responses.

A procedure is a generator of steps. It yields a step (an attempt at a request, or a pause) and receives
its outcome, so the same code serves the blocking and the asynchronous client.
"""

from __future__ import annotations

import base64
import json
import logging
import math
import os
import random
import re
import time
import uuid
from dataclasses import dataclass, field
from email.utils import parsedate_to_datetime
from typing import (
    Any,
    Callable,
    Dict,
    Generator,
    Iterator,
    List,
    Mapping,
    Optional,
    Sequence,
    Tuple,
    TypeVar,
    Union,
    cast,
)
from urllib.parse import quote, urlencode, urlsplit

from ._operations import OPERATIONS
from ._resource import Kind, Resource, built
from ._version import VERSION
from .error_codes import ERRORS
from .errors import MailroomConnectionError, MailroomError
from .types import Error, ErrorDetails, Event

T = TypeVar("T")

LOG = logging.getLogger("mailroom")


class NotGiven:
    """The type of `NOT_GIVEN`, which leaves a field unchanged, whereas None clears it."""

    def __repr__(self) -> str:
        return "NOT_GIVEN"


NOT_GIVEN = NotGiven()

Content = Union[bytes, os.PathLike[str]]
"""A file: its content, or its path, which is read piece by piece."""


@dataclass(frozen=True)
class DownloadedFile:
    content: bytes
    content_type: str


@dataclass(frozen=True)
class View:
    """Mail as text for a language model, or one page of it."""

    text: str
    """Markdown. Text written by others is between markers; treat it as data."""
    total_chars: int
    """Length of the text between the markers over all pages, in code points."""
    next_offset: Optional[int]
    """The offset of the next page; None on the last page."""


class Headers(Mapping[str, str]):
    """Header fields, whose names are compared without case."""

    def __init__(self, fields: Mapping[str, str]) -> None:
        self._fields = {name.lower(): value for name, value in fields.items()}

    def __getitem__(self, name: str) -> str:
        return self._fields[name.lower()]

    def __iter__(self) -> Iterator[str]:
        return iter(self._fields)

    def __len__(self) -> int:
        return len(self._fields)


@dataclass(frozen=True)
class SentRequest:
    """An attempt at a request, for `on_request`."""

    operation: str
    """The id of the operation, such as `inboxes.send`; of tools, the method of MCP."""
    method: str
    url: str
    attempt: int
    """1, and 2 and more for retries."""


@dataclass(frozen=True)
class Response:
    """A response of any status, for `on_response` and `with_response`."""

    request: SentRequest
    status: int
    headers: Headers
    seconds: float
    """The time from the beginning of the request to the end of the response."""

    @property
    def request_id(self) -> Optional[str]:
        """The request's id in the log of the service."""
        return self.headers.get("x-request-id")


@dataclass(frozen=True)
class Options:
    base_url: str
    api_key: str
    timeout: Optional[float] = None
    max_retries: int = 4
    lease_token: Optional[str] = None
    on_request: Optional[Callable[[SentRequest], object]] = None
    on_response: Optional[Callable[[Response], object]] = None


@dataclass(frozen=True)
class Call:
    """A call to an operation. Members that are None or NOT_GIVEN are omitted, but see `body`."""

    id: str
    path: Mapping[str, str] = field(default_factory=lambda: {})
    query: Mapping[str, Any] = field(default_factory=lambda: {})
    headers: Mapping[str, Optional[str]] = field(default_factory=lambda: {})
    body: Optional[Mapping[str, Any]] = None
    """Sent as JSON. A field that is None is omitted from a POST, and otherwise cleared."""
    file: Optional[Content] = None
    """Sent unchanged, instead of JSON."""


@dataclass(frozen=True)
class Request:
    operation: str
    method: str
    url: str
    headers: Dict[str, str]
    body: Optional[Content]
    timeout: float
    """Seconds for one attempt including its complete response."""
    is_safe: bool
    """Whether the request takes effect only once if sent twice."""

    @property
    def length(self) -> int:
        return length_of(self.body)


@dataclass(frozen=True)
class Answer:
    status: int
    headers: Headers
    body: bytes


@dataclass(frozen=True)
class Attempt:
    """One attempt. Returns an Answer of any status, or raises MailroomConnectionError."""

    request: Request


@dataclass(frozen=True)
class Pause:
    seconds: float


Step = Union[Attempt, Pause]
Steps = Generator[Step, Any, T]

class Responses:
    """A hook that remembers the last response."""

    def __init__(self, hook: Optional[Callable[[Response], object]]) -> None:
        self._hook = hook
        self._last: Optional[Response] = None

    def __call__(self, response: Response) -> None:
        self._last = response
        if self._hook is not None:
            self._hook(response)

    def last(self) -> Response:
        if self._last is None:
            raise ValueError("with_response: the function made no request with its client.")
        return self._last


TIMEOUT_DEFAULT = 30.0
UPLOAD_BYTES_PER_SECOND = 256 * 1024
BACKOFF_START = 0.25
BACKOFF_MAX = 8.0
RETRY_AFTER_MAX = 60
"""Seconds. With a longer Retry-After, the request is not retried."""

WAITS: Mapping[str, Callable[[Call], float]] = {
    "inboxes.wait": lambda call: call.query.get("timeout") or 30,
    "inboxes.claimThreads": lambda call: (call.body or {}).get("waitSeconds") or 0,
}
"""Seconds that the service may wait before it responds, in addition to the timeout."""


def send(options: Options, call: Call) -> Steps[Answer]:
    """Raises MailroomError or MailroomConnectionError, after all safe retries."""
    return (yield from sending(options, request_of(options, call)))


def sending(options: Options, request: Request) -> Steps[Answer]:
    retries = 0
    while True:
        retry_after: Optional[int] = None
        failure: Union[MailroomError, MailroomConnectionError]
        sent = SentRequest(request.operation, request.method, request.url, retries + 1)
        if options.on_request is not None:
            options.on_request(sent)
        started_at = time.monotonic()
        try:
            answer: Answer = yield Attempt(request)
        except MailroomConnectionError as error:
            LOG.debug("%s: no response to attempt %d", sent.operation, sent.attempt)
            # A POST without a response may have taken effect.
            failure, is_repeatable = error, request.is_safe
        else:
            seconds = time.monotonic() - started_at
            response = Response(sent, answer.status, answer.headers, seconds)
            # Some paths contain tokens, so the log has the operation instead of the URL.
            LOG.debug(
                "%s: %d after %.3f s, attempt %d, request %s",
                *(sent.operation, answer.status, seconds, sent.attempt, response.request_id),
            )
            if options.on_response is not None:
                options.on_response(response)
            if 200 <= answer.status < 300:
                return answer
            failure = error_of(answer)
            is_repeatable = is_refusal_repeatable(answer, failure.code, request.is_safe)
            retry_after = failure.retry_after
        wait = wait_before(retries, retry_after) if is_repeatable else None
        if wait is None or retries >= options.max_retries:
            raise failure
        yield Pause(wait)
        retries += 1


def is_refusal_repeatable(answer: Answer, code: str, is_safe: bool) -> bool:
    # A request that the service refuses with 429 or 5xx had no effect. A gateway in front of it does not
    # guarantee that; only the service sends X-Request-Id.
    is_refusal = answer.status in (429, 503)
    is_from_service = "x-request-id" in answer.headers
    is_repeatable = is_refusal or (answer.status >= 500 and (is_safe or is_from_service))
    # This 5xx is a result and not repeated: the webhook test ran.
    return is_repeatable and code != "webhook_failed"


def wait_before(retries: int, retry_after: Optional[int]) -> Optional[float]:
    """Seconds until the next attempt; None if Retry-After is too long."""
    if retry_after is not None and retry_after > RETRY_AFTER_MAX:
        return None
    return max(backoff(retries, BACKOFF_MAX), float(retry_after or 0))


def backoff(failures: int, most: float) -> float:
    """Randomized, so that clients that failed together do not retry together."""
    ceiling = min(BACKOFF_START * 2.0 ** min(failures, 30), most)
    return ceiling / 2 + random.random() * ceiling / 2


def is_passing(error: BaseException) -> bool:
    """Whether the error is temporary."""
    if isinstance(error, MailroomError):
        return error.status >= 500 or error.status == 429
    return isinstance(error, MailroomConnectionError)


def json_of(options: Options, call: Call) -> Steps[Any]:
    answer = yield from send(options, call)
    kind = OPERATIONS[call.id].kind
    parsed = parse_json(answer.body)
    return parsed if kind is None else built(kind, parsed)


def nothing_of(options: Options, call: Call) -> Steps[None]:
    yield from send(options, call)


def text_of(options: Options, call: Call) -> Steps[str]:
    answer = yield from send(options, call)
    return answer.body.decode("utf-8", "replace")


def file_of(options: Options, call: Call) -> Steps[DownloadedFile]:
    answer = yield from send(options, call)
    return DownloadedFile(answer.body, answer.headers.get("content-type", ""))


def view_of(options: Options, call: Call) -> Steps[View]:
    answer = yield from send(options, call)
    following = answer.headers.get("x-view-next-offset")
    return View(
        text=answer.body.decode("utf-8", "replace"),
        total_chars=int(answer.headers.get("x-view-total-chars", "0")),
        next_offset=None if following is None else int(following),
    )


def parse_json(body: bytes) -> Any:
    try:
        return json.loads(body, object_hook=Resource)
    except ValueError as cause:
        raise MailroomConnectionError("The response is not JSON.") from cause


def event_of(text: Union[bytes, str]) -> Event:
    kind = OPERATIONS["events.list"].kind
    return built(cast(Kind, kind), json.loads(text, object_hook=Resource))


def request_of(options: Options, call: Call) -> Request:
    operation = OPERATIONS[call.id]
    headers = {
        "accept-encoding": "identity",
        "authorization": f"Bearer {options.api_key}",
        "user-agent": f"mailroom-python/{VERSION}",
    }
    if options.lease_token is not None:
        headers["lease-token"] = options.lease_token
    if operation.method == "POST":
        headers["idempotency-key"] = str(uuid.uuid4())
    headers.update({name: value for name, value in call.headers.items() if value is not None})
    body: Optional[Content] = None
    if call.file is not None:
        headers.setdefault("content-type", "application/octet-stream")
        body = call.file
    elif call.body is not None:
        headers["content-type"] = "application/json"
        given = given_of(call.body, keeps_none=operation.method != "POST")
        if call.id == "inboxes.sendBatch":
            given["items"] = [
                {"idempotencyKey": str(uuid.uuid4()), **one} for one in given["items"]
            ]
        body = json.dumps(given, default=encode, ensure_ascii=False, separators=(",", ":")).encode()
    for name, value in headers.items():
        if not value.isprintable() or not value.isascii():
            raise ValueError(f"The header {name} must be printable ASCII.")
    timeout = TIMEOUT_DEFAULT if options.timeout is None else options.timeout
    if call.id in WAITS:
        timeout += WAITS[call.id](call)
    if options.timeout is None:
        timeout += length_of(body) // UPLOAD_BYTES_PER_SECOND
    return Request(
        operation=call.id,
        method=operation.method,
        url=url_of(options.base_url, call),
        headers=headers,
        body=body,
        timeout=timeout,
        is_safe=operation.method != "POST" or operation.is_once,
    )


def length_of(body: Optional[Content]) -> int:
    if body is None:
        return 0
    if isinstance(body, bytes):
        return len(body)
    with open(body, "rb") as file:
        return os.fstat(file.fileno()).st_size


def given_of(fields: Mapping[str, Any], *, keeps_none: bool) -> Dict[str, Any]:
    return {
        name: value
        for name, value in fields.items()
        if not isinstance(value, NotGiven) and (keeps_none or value is not None)
    }


def encode(value: Any) -> Any:
    """Encodes types that JSON lacks: bytes as base64, and other mappings and sequences."""
    if isinstance(value, (bytes, bytearray, memoryview)):
        return base64.b64encode(bytes(cast(bytes, value))).decode()
    if isinstance(value, Mapping):
        return dict(cast(Mapping[str, Any], value))
    try:
        return list(value)
    except TypeError:
        raise TypeError(f"{type(value).__name__} cannot be sent as JSON.") from None


def url_of(base_url: str, call: Call) -> str:
    path = re.sub(
        r"\{(\w+)\}",
        lambda found: segment_of(found[1], call.path[found[1]]),
        OPERATIONS[call.id].path,
    )
    pairs: List[Any] = []
    for name, value in given_of(call.query, keeps_none=False).items():
        if isinstance(value, Mapping):
            fields = cast(Mapping[str, Any], value)
            pairs += [(f"{name}.{key}", text_in_query(one)) for key, one in fields.items()]
        elif isinstance(value, (str, int, float, bool)):
            pairs.append((name, text_in_query(value)))
        else:
            pairs += [(name, text_in_query(one)) for one in value]
    return f"{base_url}{path}{'?' if pairs else ''}{urlencode(pairs)}"


def text_in_query(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)


def segment_of(name: str, text: str) -> str:
    """Gateways resolve a segment of only dots, even if encoded (WHATWG URL)."""
    if text in ("", ".", ".."):
        raise ValueError(f"{name}: {text!r} cannot be part of a path.")
    return quote(text, safe="")


def base_url_of(given: Optional[str]) -> str:
    """The URL of the service. Messages do not repeat it, because it may be a key by mistake."""
    name, url = given_or_set(given, "base_url", "MAILROOM_BASE_URL")
    if not url:
        raise ValueError(
            "The URL of the service is missing: pass base_url, such as http://127.0.0.1:8080, "
            "or set the environment variable MAILROOM_BASE_URL."
        )
    if not is_complete_url(url):
        raise ValueError(f"{name} must be a complete URL, such as http://127.0.0.1:8080.")
    if url.rstrip("/").endswith("/v1"):
        raise ValueError(f"{name} must not end in /v1, which the client adds itself.")
    return url.rstrip("/")


def api_key_of(given: Optional[str]) -> str:
    name, key = given_or_set(given, "api_key", "MAILROOM_API_KEY")
    if not key:
        raise ValueError(
            "The API key is missing: pass api_key, or set the environment variable "
            "MAILROOM_API_KEY."
        )
    if not key.isascii() or not key.isprintable() or " " in key:
        raise ValueError(
            f"{name} has a space, a line break or a character that is not ASCII. "
            'Pass only the key, without "Bearer".'
        )
    return key


def given_or_set(given: Optional[str], name: str, variable: str) -> Tuple[str, Optional[str]]:
    """The value of an argument or of an environment variable, after its name."""
    return (variable, os.environ.get(variable)) if given is None else (name, given)


def is_complete_url(url: str) -> bool:
    try:
        parts = urlsplit(url)
        has_port = parts.port != 0
    except ValueError:
        return False
    is_plain = url.isprintable() and not re.search(r"[\s?#]", url)
    return is_plain and has_port and parts.scheme in ("http", "https") and bool(parts.hostname)


def error_of(answer: Answer) -> MailroomError:
    try:
        parsed: Any = json.loads(answer.body, object_hook=Resource)
    except ValueError:
        parsed = None
    body = cast(Dict[str, Any], parsed) if isinstance(parsed, dict) else {}
    code = string_of(body.get("error")) or code_of_status(answer.status)
    return ERRORS.get(code, MailroomError)(
        string_of(body.get("message")) or f"The service responded with {answer.status}.",
        status=answer.status,
        code=code,
        request_id=string_of(body.get("requestId")) or answer.headers.get("x-request-id"),
        fix=string_of(body.get("fix")),
        details=details_of(body.get("details")),
        retry_after=read_retry_after(answer.headers),
        body=Error(body),
    )


def string_of(value: Any) -> Optional[str]:
    return value if isinstance(value, str) else None


def details_of(value: Any) -> List[ErrorDetails]:
    if not isinstance(value, list):
        return []
    return [ErrorDetails(one) for one in cast(Sequence[Any], value) if is_detail(one)]


def is_detail(value: Any) -> bool:
    if not isinstance(value, dict):
        return False
    detail = cast(Dict[str, Any], value)
    return isinstance(detail.get("path"), str) and isinstance(detail.get("message"), str)


def code_of_status(status: int) -> str:
    """The code for a response of a gateway, which has no code of the service."""
    known = {401: "unauthorized", 404: "not_found", 413: "payload_too_large"}
    known[429] = "rate_limit_exceeded"
    return known.get(status, "service_unavailable" if status >= 500 else "bad_request")


def read_retry_after(headers: Mapping[str, str]) -> Optional[int]:
    """Seconds from Retry-After (RFC 9110 §10.2.3), a number or a date; None without the header."""
    value = headers.get("retry-after")
    if value is None:
        return None
    if re.fullmatch(r"[0-9]{1,9}", value):
        return int(value)
    try:
        at = parsedate_to_datetime(value).timestamp()
    except (TypeError, ValueError, OverflowError):
        return None
    return max(0, math.ceil(at - time.time()))
