"""Programs that treat events by their type, in the ways that type checkers narrow a union."""

from __future__ import annotations

from typing import List, Optional

from mailroom import Mailroom, verify_webhook
from mailroom.types import Event, MessageReceivedEvent, ThreadClaimedEvent


def by_its_type(event: Event) -> Optional[str]:
    if event.event == "message.received":
        return event.message.subject
    if event.event == "message.bounced":
        return f"{event.recipient}: {event.bounce.response}"
    if event.event == "message.recieved":  # mistake
        return None
    if event.event == "domain.verified" or event.event == "domain.failed":
        return event.domain.domain
    return event.message.subject  # mistake


def by_its_parts(event: Event) -> Optional[str]:
    if event.message:
        return event.message.body_text
    return event.claim.owner if event.claim else None


def by_its_class(event: Event) -> str:
    if isinstance(event, MessageReceivedEvent):
        return event.message.from_
    match event:
        case ThreadClaimedEvent():
            return event.claim.owner
        case _:
            return event.event_id


def of_a_webhook(body: bytes, secret: str) -> List[str]:
    event = verify_webhook(body, {"webhook-id": "evt_1"}, secret)
    if event.event == "message.received" and event.message.extracted:
        return [code.value for code in event.message.extracted.codes]
    print(event.message.extracted)  # mistake
    return []


for one in Mailroom().events.list(order="desc"):
    thread_id: Optional[str] = one.thread_id
    subject: str = one.message.subject  # mistake
    if one.event == "message.held":
        thread_id = one.thread_id
        print([reason.detail for reason in one.hold.reasons], thread_id.upper())
