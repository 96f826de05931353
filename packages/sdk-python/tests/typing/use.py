"""Programs as their authors write them first. Type checkers accept all but the lines marked as mistakes."""

from __future__ import annotations

from typing import Any, Dict, List, Optional

from mailroom import AsyncMailroom, Mailroom, Page, types

mailroom = Mailroom()
inbox = mailroom.inboxes.create(display_name="My agent")


def read_an_inbox() -> Optional[str]:
    print(inbox.adress)  # mistake
    number: int = inbox.address  # mistake
    print(number)
    # The names of the wire are those of items.
    print(inbox.displayName)  # mistake
    as_item: str = inbox["address"]
    print(as_item)
    return inbox.display_name


def read_nested_objects() -> List[str]:
    thread = mailroom.threads.get("thr_1")
    owner: str = thread.claim.owner  # mistake
    if thread.claim is not None:
        owner = thread.claim.owner
        print(owner)
    return [one.address for one in thread.participants]


def treat_it_as_a_dict() -> Dict[str, Any]:
    fields: Dict[str, Any] = inbox
    return {**fields, "more": inbox.get("address")}


def read_lists() -> int:
    for message in mailroom.messages.list(inbox.id):
        print(message.from_addr, message.extracted.codes if message.extracted else None)
    first = mailroom.threads.list(inbox.id).first()
    print(first.subject)  # mistake
    found: List[types.Thread] = mailroom.threads.list(inbox.id).all(max=5)
    page: Page[types.Pod] = mailroom.pods.list().page()
    print(found, page.data[0].client_id, page["total"])
    print(mailroom.threads.list(inbox.id).data[0].snippet)
    return page.total + mailroom.pods.list().total


def send() -> bool:
    sent = mailroom.inboxes.send(inbox.id, to="bob@example.com", subject="Hello", body="Hi.")
    mailroom.inboxes.send(inbox.id, recipient="bob@example.com")  # mistake
    if sent.is_held and sent.hold:
        print(sent.hold.digest, [reason.guard for reason in sent.hold.reasons])
    return sent.is_held


def send_back() -> None:
    """What the service returned can be sent back, changed or not."""
    draft = mailroom.drafts.get("dft_1")
    mailroom.drafts.update(draft.id, invite=draft.invite)
    policy = mailroom.policy.get()
    mailroom.policy.replace(inbound=policy.inbound, outbound={"mode": "allowlist"})
    mailroom.policy.replace(outbound={"made": "allowlist"})  # mistake


def read_a_response() -> int:
    thread, response = mailroom.with_response(lambda mail: mail.threads.get("thr_1"))
    print(thread.subject, response.headers["RateLimit-Remaining"], response.request_id)
    return response.status


async def read_asynchronously(client: AsyncMailroom) -> int:
    thread, response = await client.with_response(lambda mail: mail.threads.get("thr_1"))
    print(thread.last_message_at, response.seconds)
    found: List[types.Inbox] = await client.inboxes.list().all()
    async for event in client.events.follow():
        print(event.event_id, found)
    return (await client.pods.list()).total
