"""The client of the Mailroom API: email inboxes for software agents.

`Mailroom` is blocking and needs only the standard library; `AsyncMailroom` is for asyncio and needs httpx.
The operation `a.b` of the API is the method `b` of the namespace `a`. Arguments are in snake_case, and so are
the attributes of responses, which are also dicts with the field names of the API. Types are in `mailroom.types`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from . import error_codes, types
from ._core import NOT_GIVEN, DownloadedFile, Headers, NotGiven, Response, SentRequest, View
from ._core import Content as Upload
from ._procedures import Page, reply_recipient
from ._sync import ByteStream, EventListing, Following, Listing
from ._version import VERSION as __version__
from .client import Mailroom, WorkContext
from .error_codes import *
from .errors import (
    MailroomConnectionError,
    MailroomError,
    MailroomTimeoutError,
    WebhookVerificationError,
)
from .webhooks import verify_webhook

if TYPE_CHECKING:
    from .async_client import AsyncMailroom, AsyncWorkContext

__all__ = [
    "NOT_GIVEN",
    "AsyncMailroom",
    "AsyncWorkContext",
    "ByteStream",
    "DownloadedFile",
    "EventListing",
    "Following",
    "Headers",
    "Listing",
    "Mailroom",
    "MailroomConnectionError",
    "MailroomError",
    "MailroomTimeoutError",
    "NotGiven",
    "Page",
    "Response",
    "SentRequest",
    "Upload",
    "View",
    "WebhookVerificationError",
    "WorkContext",
    "__version__",
    "reply_recipient",
    "types",
    "verify_webhook",
]
__all__ += error_codes.__all__


def __getattr__(name: str) -> Any:
    """Imports httpx on first use."""
    if name not in ("AsyncMailroom", "AsyncWorkContext"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        from . import async_client
    except ImportError as cause:
        raise ImportError("AsyncMailroom needs httpx: pip install httpx") from cause
    return getattr(async_client, name)
