"""Verifies that a webhook request comes from the service and is recent."""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import re
import time
from dataclasses import dataclass
from typing import Any, Iterable, List, Optional, Protocol, Sequence, Tuple, Union, cast

from ._core import event_of
from .errors import WebhookVerificationError
from .types import Event

TOLERANCE_SECONDS_DEFAULT = 300
SECRET_PREFIX = "whsec_"


class WebhookHeaders(Protocol):
    """A mapping of names to values or lists of values, or the headers of any web framework."""

    def items(self) -> Iterable[Tuple[str, Any]]:
        ...


def verify_webhook(
    raw_body: Union[bytes, str],
    headers: WebhookHeaders,
    secret: Union[str, Sequence[str]],
    *,
    tolerance: float = TOLERANCE_SECONDS_DEFAULT,
    now: Optional[float] = None,
) -> Event:
    """Returns the event of a verified request.

    `raw_body` is the unparsed body and `headers` are the headers of the request. With
    several secrets, any may match. `tolerance` is the maximum difference in seconds between the timestamp of
    the request and `now`, by default the current time. Raises WebhookVerificationError. A request may arrive
    more than once, even within the tolerance, so remember its `event_id`.
    """
    body = body_of(raw_body)
    secrets = secrets_of(secret)
    signed = read_standard(headers) or read_plain(headers)
    if signed is None:
        names = "webhook-id, webhook-timestamp and webhook-signature"
        raise WebhookVerificationError("missing_header", f"The request needs {names}.")
    check_time(signed.timestamp, tolerance, time.time() if now is None else now)
    if not is_signed_by_any(signed.prefix + body, signed, secrets):
        message = "No signature of the request was made with this secret."
        raise WebhookVerificationError("wrong_signature", message)
    try:
        return event_of(body)
    except (ValueError, RecursionError):
        raise WebhookVerificationError("not_json", "The body is not JSON.") from None


def body_of(raw_body: Any) -> bytes:
    if isinstance(raw_body, str):
        return octets_of(raw_body)
    if isinstance(raw_body, bytes):
        return raw_body
    if isinstance(raw_body, bytearray):
        return bytes(raw_body)
    # A framework has already parsed it.
    message = "The signature covers the unparsed body: pass its text or its bytes."
    raise WebhookVerificationError("wrong_signature", message)


def secrets_of(secret: Any) -> List[str]:
    """Drops values that are not text, such as an unset environment variable."""
    return [one for one in list_of(secret) if isinstance(one, str)]


def list_of(value: Any) -> List[Any]:
    return list(cast(Sequence[Any], value)) if isinstance(value, (list, tuple)) else [value]


def octets_of(text: str) -> bytes:
    """Some frameworks decode invalid UTF-8 to lone surrogates."""
    return text.encode("utf-8", "surrogatepass")


@dataclass
class Signed:
    timestamp: str
    prefix: bytes
    """The signed bytes before the body."""
    signatures: List[bytes]
    is_standard: bool

    def key_of(self, secret: str) -> bytes:
        """The key of a secret; empty if it is malformed."""
        if not self.is_standard:
            return octets_of(secret)
        return decode_base64(
            secret[len(SECRET_PREFIX) :] if secret.startswith(SECRET_PREFIX) else secret
        )


def read_standard(headers: WebhookHeaders) -> Optional[Signed]:
    """The Standard Webhooks convention."""
    id = read(headers, "webhook-id")
    timestamp = read(headers, "webhook-timestamp")
    signatures = read(headers, "webhook-signature")
    if id is None or timestamp is None or signatures is None:
        return None
    entries = [entry.split(",") for entry in signatures.split(" ")]
    made = [decode_base64(entry[1]) for entry in entries if entry[0] == "v1" and len(entry) > 1]
    return Signed(timestamp, octets_of(f"{id}.{timestamp}."), made, is_standard=True)


def read_plain(headers: WebhookHeaders) -> Optional[Signed]:
    """The plain convention: one header per secret, with the secret's text as key."""
    timestamp = read(headers, "x-timestamp")
    newest = read(headers, "x-signature")
    if timestamp is None or newest is None:
        return None
    texts = [newest, read(headers, "x-signature-previous") or ""]
    made = [bytes.fromhex(text) for text in texts if re.fullmatch(r"[0-9a-fA-F]{64}", text)]
    return Signed(timestamp, octets_of(f"{timestamp}."), made, is_standard=False)


def read(headers: WebhookHeaders, name: str) -> Optional[str]:
    try:
        pairs = list(headers.items())
    except (AttributeError, TypeError, ValueError):
        return None
    for key, value in pairs:
        if (text_of(key) or "").lower() == name and value is not None:
            values = list_of(value)
            return text_of(values[0]) if values else None
    return None


def text_of(value: Any) -> Optional[str]:
    """ASGI has bytes; anything except bytes and text is treated as missing."""
    if isinstance(value, bytes):
        return value.decode("latin-1")
    return value if isinstance(value, str) else None


def check_time(timestamp: str, tolerance: float, now: float) -> None:
    if not re.fullmatch(r"[0-9]{1,12}", timestamp):
        message = "The timestamp of the request is not a number."
        raise WebhookVerificationError("bad_timestamp", message)
    if abs(now - int(timestamp)) > tolerance:
        message = f"The request was made more than {tolerance:g} seconds ago, or the clocks differ."
        raise WebhookVerificationError("too_old", message)


def is_signed_by_any(text: bytes, signed: Signed, secrets: Sequence[str]) -> bool:
    """Compares all signatures in constant time."""
    is_signed = False
    for secret in secrets:
        key = signed.key_of(secret)
        if not key:
            continue
        expected = hmac.new(key, text, hashlib.sha256).digest()
        for signature in signed.signatures:
            is_signed = hmac.compare_digest(expected, signature) or is_signed
    return is_signed


def decode_base64(text: str) -> bytes:
    """Decodes base64, with or without padding; returns b"" if malformed."""
    try:
        return base64.b64decode(
            text.rstrip("=") + "=" * (-len(text.rstrip("=")) % 4), validate=True
        )
    except (binascii.Error, ValueError):
        return b""
