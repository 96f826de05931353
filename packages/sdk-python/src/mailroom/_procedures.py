"""Procedures of several requests, shared by both clients: pagination, waiting, replies."""

from __future__ import annotations

import math
import re
import time
from dataclasses import dataclass, replace
from typing import Any, Callable, Dict, Generic, List, Mapping, Optional, Set, TypeVar, Union

from ._core import Call, Options, Pause, Steps, json_of, parse_json, send
from ._operations import OPERATIONS
from ._resource import Resource, built
from .types import Message, SentMessage, Thread

T = TypeVar("T")

PAGE_SIZE = 100
COUNTED_MAX = 10_000
"""The highest total of a list without a limit."""


class Page(Resource, Generic[T]):
    """One page of a list."""

    data: List[T]
    total: int
    """Entries on all pages."""
    total_is_exact: Optional[bool]
    """In a search: False if there may be more matches than `total`."""
    is_complete: Optional[bool]
    """In a search or a filtered list: False if it ended before it had looked at the whole inbox."""


def page_of(options: Options, call: Call) -> Steps[Page[Any]]:
    answer = yield from send(options, call)
    page: Page[Any] = Page(parse_json(answer.body))
    kind = OPERATIONS[call.id].kind
    if kind is not None:
        page["data"] = built(kind, page.data)
    return page


def first_of(call: Call) -> Call:
    return replace(call, query={**call.query, "limit": 1})


def limited(call: Call, most: Optional[int]) -> Call:
    """The call with pages that are no larger than needed."""
    if most is None or most < 1 or call.query.get("limit") is not None:
        return call
    return replace(call, query={**call.query, "limit": min(most, PAGE_SIZE)})


class Pager:
    """Requests one page of a list after another, and gives the new entries of each."""

    def __init__(self, call: Call) -> None:
        self._call = call
        self._limit: int = call.query.get("limit") or PAGE_SIZE
        self._offset: int = call.query.get("offset") or 0
        self._previous: Set[str] = set()
        self.is_done = False

    def next(self) -> Call:
        bounds = {"limit": self._limit, "offset": self._offset}
        return replace(self._call, query={**self._call.query, **bounds})

    def take(self, page: Page[Any]) -> List[Any]:
        # New entries push older ones from the end of one page to the start of the next.
        added = [item for item in page.data if id_of(item) not in self._previous]
        self._previous = {id_of(item) for item in page.data}
        self._offset += len(page.data)
        is_counted = page.total_is_exact
        if is_counted is None:
            is_counted = page.total < COUNTED_MAX
        self.is_done = not page.data or (is_counted and self._offset >= page.total)
        return added


def id_of(item: Mapping[str, Any]) -> str:
    """Entries are identified by their own id or, in search results, by that of the message."""
    return next(item[name] for name in ("id", "messageId", "label") if name in item)


class EventPager:
    """Like Pager, for the log: each page starts after the last event."""

    def __init__(self, call: Call) -> None:
        self._call = call
        self._limit: int = call.query.get("limit") or PAGE_SIZE
        self._after: Optional[str] = call.query.get("after")
        self.is_done = False

    def next(self) -> Call:
        bounds = {"limit": self._limit, "after": self._after}
        return replace(self._call, query={**self._call.query, **bounds})

    def take(self, page: Page[Any]) -> List[Any]:
        if page.data:
            self._after = page.data[-1]["event_id"]
        # The total may not include a rare match, so a page that is not full is the last.
        self.is_done = len(page.data) < min(self._limit, PAGE_SIZE)
        return page.data


@dataclass(frozen=True)
class Wanted:
    """Criteria of the awaited message."""

    inbox_id: str
    after: Optional[str] = None
    from_: Optional[str] = None
    subject: Optional[str] = None
    thread_id: Optional[str] = None
    category: Optional[str] = None
    direction: str = "inbound"

    def matches(self, message: Message) -> bool:
        """Applies the filters in the same way as the service."""
        return (
            message["direction"] == self.direction
            and self.category in (None, message.get("category"))
            and (self.direction == "inbound" or message["status"] != "pending")
            and self.thread_id in (None, message["threadId"])
            and (self.from_ or "").lower() in message["fromAddr"].lower()
            and (self.subject or "").lower() in message["subject"].lower()
        )


WAIT_SECONDS_MAX = 60


def waiting(options: Options, wanted: Wanted, timeout: float) -> Steps[Optional[Message]]:
    """Waits in requests of at most a minute, without missing a message between two of them."""
    end = time.monotonic() + timeout
    is_inbound = wanted.direction == "inbound"
    before: List[Message] = []
    if wanted.after is None:
        before = yield from newest(options, wanted)
    # Later messages follow the newest one, but the outcomes of earlier ones do not.
    cursor = wanted.after
    if cursor is None and is_inbound and before:
        cursor = before[0]["id"]
    while True:
        rest = math.ceil(end - time.monotonic())
        query = {
            "timeout": min(max(1, rest), WAIT_SECONDS_MAX),
            "after": cursor,
            "from": wanted.from_,
            "subject": wanted.subject,
            "thread_id": wanted.thread_id,
            "category": wanted.category,
            "direction": wanted.direction,
        }
        call = Call("inboxes.wait", path={"id": wanted.inbox_id}, query=query)
        message: Optional[Message] = (yield from json_of(options, call))["message"]
        if cursor is None:
            # Without a cursor, messages that arrived between two requests are found in the list.
            added = yield from added_since(options, wanted, before)
            first = next((one for one in reversed(added) if wanted.matches(one)), None)
            if first is not None:
                return (yield from whole(options, first))
            if is_inbound and added:
                cursor = added[0]["id"]
        if message is not None or time.monotonic() >= end:
            return message


def messages_of(wanted: Wanted, limit: Optional[int] = None) -> Call:
    query = {"direction": wanted.direction, "limit": limit}
    return Call("messages.list", path={"id": wanted.inbox_id}, query=query)


def newest(options: Options, wanted: Wanted) -> Steps[List[Message]]:
    limit = 1 if wanted.direction == "inbound" else PAGE_SIZE
    return (yield from page_of(options, messages_of(wanted, limit))).data


def added_since(options: Options, wanted: Wanted, before: List[Message]) -> Steps[List[Message]]:
    """Messages that are new or were pending before, newest first."""
    added: List[Message] = []
    known = {one["id"]: one["status"] for one in before}
    oldest = before[-1] if before else None
    pager = Pager(messages_of(wanted))
    while not pager.is_done:
        page = yield from page_of(options, pager.next())
        for one in pager.take(page):
            was = known.get(one["id"])
            if was is None and oldest is not None and one["createdAt"] < oldest["createdAt"]:
                return added
            if was is None or was == "pending":
                added.append(one)
            if oldest is not None and one["id"] == oldest["id"]:
                return added
    return added


def whole(options: Options, listed: Message) -> Steps[Message]:
    """Reads the full message, because lists truncate long bodies."""
    if not listed["isTruncated"]:
        return listed
    return (yield from json_of(options, Call("messages.get", path={"id": listed["id"]})))


ASK_SECONDS_MIN = 0.25
ASK_SECONDS_MAX = 5.0


def until_done(
    options: Options, call: Call, on_progress: Optional[Callable[[Any], object]]
) -> Steps[Any]:
    ask = ASK_SECONDS_MIN
    while True:
        known = yield from json_of(options, call)
        if on_progress is not None:
            on_progress(known)
        if known["status"] not in ("queued", "running"):
            return known
        yield Pause(ask)
        ask = min(ask * 2, ASK_SECONDS_MAX)


def reply_to(message: Mapping[str, Any], call: Call) -> Call:
    """The message as a reply in the thread of the original."""
    fields: Dict[str, Any] = {**(call.body or {}), "threadId": message["threadId"]}
    if not fields.get("to") and not fields.get("replyAll"):
        fields["to"] = reply_recipient(message)
    return replace(call, body=fields)


def replying_to(
    options: Options, message: Union[Mapping[str, Any], str], call: Call
) -> Steps[SentMessage]:
    replied: Mapping[str, Any]
    if isinstance(message, str):
        replied = yield from json_of(options, Call("messages.get", path={"id": message}))
    else:
        replied = message
    return (yield from json_of(options, reply_to(replied, call)))


def replying_in_thread(options: Options, call: Call) -> Steps[SentMessage]:
    """Sends in the thread that the path of the call names."""
    thread: Thread = yield from json_of(options, Call("threads.get", path=call.path))
    query = {"limit": PAGE_SIZE, "offset": max(0, thread.message_count - PAGE_SIZE)}
    newest = Call("threads.messages", path=call.path, query=query)
    messages: List[Message] = (yield from json_of(options, newest)).data
    received = [one for one in messages if one.direction == "inbound"]
    reply = reply_to((received or messages)[-1], call)
    return (yield from json_of(options, replace(reply, path={"id": thread.inbox_id})))


ADDRESS = re.compile(r'\s*(?:"(?:[^"\\]|\\.)*"@)?[^,]+')


def reply_recipient(message: Mapping[str, Any]) -> str:
    """The address where the sender wants replies, unless that is the inbox itself.

    If the inbox was only copied, the address that the sender wrote to; for an own message, its
    recipient.
    """
    if message.get("direction") == "outbound" and message.get("toAddr") is not None:
        return message["toAddr"]
    if message.get("deliveryRole") == "cc" and message.get("headerTo"):
        return list_of(message["headerTo"])[0]
    own = [inbox_of(message.get(name) or "") for name in ("toAddr", "recipient")]
    for address in list_of(message.get("replyTo") or ""):
        if inbox_of(address) not in own:
            return address
    sender: str = message["fromAddr"]
    bare = re.search(r"<([^<>]*)>\s*$", sender)
    return bare[1] if bare else sender.strip()


def list_of(addresses: str) -> List[str]:
    """Splits addresses joined by ", "; a quoted local part may contain a comma too."""
    return [found[0].strip() for found in ADDRESS.finditer(addresses)]


def inbox_of(address: str) -> str:
    """The address for comparison, without its tag, because tagged mail reaches the same inbox."""
    return re.sub(r"^([^+]+)\+.*(@[^@]*)$", r"\1\2", address.lower())
