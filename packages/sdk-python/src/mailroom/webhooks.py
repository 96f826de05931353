"""Verifies that a webhook request comes from the service and is new."""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import json
import re
import time
from dataclasses import dataclass
from typing import Any, Iterable, List, Optional, Protocol, Sequence, Tuple, Union

from .errors import WebhookVerificationError
from .types import Event

TOLERANCE_SECONDS_DEFAULT = 300
SECRET_PREFIX = "whsec_"


class WebhookHeaders(Protocol):
    """Names with values or lists of values: a mapping, or the headers of any web framework."""

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
    """The event of a verified request.

    `raw_body` is the unparsed body, `headers` those of the request; with
    several secrets, any one may match. `tolerance` is the maximum difference in seconds between the time of
    the request and `now`, by default the present. Raises WebhookVerificationError. A request may arrive more
    than once, even within the tolerance: remember its `event_id`.
    """
    secrets = [secret] if isinstance(secret, str) else list(secret)
    body = raw_body.encode() if isinstance(raw_body, str) else raw_body
    signed = read_standard(headers) or read_plain(headers)
    if signed is None:
        names = "webhook-id, webhook-timestamp and webhook-signature"
        raise WebhookVerificationError("missing_header", f"The request needs {names}.")
    check_time(signed.timestamp, tolerance, time.time() if now is None else now)
    if not is_signed_by_any(signed.prefix + body, signed, secrets):
        message = "No signature of the request was made with this secret."
        raise WebhookVerificationError("wrong_signature", message)
    try:
        return json.loads(body)
    except ValueError:
        raise WebhookVerificationError("not_json", "The body is not JSON.") from None


@dataclass
class Signed:
    timestamp: str
    prefix: bytes
    """The signed octets before the body."""
    signatures: List[bytes]
    is_standard: bool

    def key_of(self, secret: str) -> bytes:
        """Empty for a malformed secret."""
        if not self.is_standard:
            return secret.encode()
        return decode_base64(
            secret[len(SECRET_PREFIX) :] if secret.startswith(SECRET_PREFIX) else secret
        )


def read_standard(headers: WebhookHeaders) -> Optional[Signed]:
    """Standard Webhooks."""
    id = read(headers, "webhook-id")
    timestamp = read(headers, "webhook-timestamp")
    signatures = read(headers, "webhook-signature")
    if id is None or timestamp is None or signatures is None:
        return None
    entries = [entry.split(",") for entry in signatures.split(" ")]
    made = [decode_base64(entry[1]) for entry in entries if entry[0] == "v1" and len(entry) > 1]
    return Signed(timestamp, f"{id}.{timestamp}.".encode(), made, is_standard=True)


def read_plain(headers: WebhookHeaders) -> Optional[Signed]:
    """The plain convention: one header for each secret, keyed with the secret as text."""
    timestamp = read(headers, "x-timestamp")
    newest = read(headers, "x-signature")
    if timestamp is None or newest is None:
        return None
    texts = [newest, read(headers, "x-signature-previous") or ""]
    made = [bytes.fromhex(text) for text in texts if re.fullmatch(r"(?:[0-9a-fA-F]{2})+", text)]
    return Signed(timestamp, f"{timestamp}.".encode(), made, is_standard=False)


def read(headers: WebhookHeaders, name: str) -> Optional[str]:
    for key, value in headers.items():
        if key.lower() == name and value is not None:
            values: Sequence[Any] = [value] if isinstance(value, str) else list(value)
            return values[0] if values else None
    return None


def check_time(timestamp: str, tolerance: float, now: float) -> None:
    if not re.fullmatch(r"[0-9]{1,12}", timestamp):
        message = "The time of the request is not a number."
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
    """Empty if it is malformed; the padding may be missing."""
    try:
        return base64.b64decode(
            text.rstrip("=") + "=" * (-len(text.rstrip("=")) % 4), validate=True
        )
    except (binascii.Error, ValueError):
        return b""
