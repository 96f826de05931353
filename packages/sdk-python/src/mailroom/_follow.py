"""Streams events: every event once, in log order.

Uses server-sent events and reconnects when the connection breaks.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any, Callable, Dict, List, Optional, Sequence, Set

from ._core import Call, Options, Pause, Steps, backoff, event_of, is_passing
from ._procedures import page_of
from .errors import MailroomError
from .types import Event

SILENCE_SECONDS = 45.0
"""The service sends a comment every 15 seconds."""
BACKOFF_MAX = 30.0
GOOD_SECONDS = 10.0
"""A connection that lasted this long resets the backoff."""
OPENED_FAILURES_MAX = 2
"""Limits the backoff to a second if the broken connection had been subscribed."""
EMPTY_LOG_SECONDS = 2.0


@dataclass
class SentEvent:
    """A server-sent event, or a comment."""

    data: str = ""
    comment: str = ""


class EventStreamParser:
    """Parses server-sent events (WHATWG HTML §9.2) from arbitrary pieces of bytes."""

    def __init__(self) -> None:
        self._rest = b""
        self._data: List[str] = []

    def feed(self, octets: bytes) -> List[SentEvent]:
        *lines, self._rest = (self._rest + octets).split(b"\n")
        found: List[SentEvent] = []
        for raw in lines:
            line = raw.rstrip(b"\r").decode("utf-8", "replace")
            name, _, value = line.partition(":")
            value = value[1:] if value.startswith(" ") else value
            if line == "":
                if self._data:
                    found.append(SentEvent(data="\n".join(self._data)))
                self._data = []
            elif name == "":
                if value:
                    found.append(SentEvent(comment=value))
            elif name == "data":
                self._data.append(value)
        return found


class Follower:
    """The state of an event reader: what to request and yield, and when to reconnect."""

    def __init__(
        self,
        options: Options,
        *,
        after: Optional[str],
        inbox_ids: Sequence[str],
        pod_ids: Sequence[str],
        event_types: Sequence[str],
        categories: Sequence[str],
        on_notice: Optional[Callable[[str], object]],
    ) -> None:
        self._options = options
        self._after = after
        self._inbox_ids = frozenset(inbox_ids)
        self._pod_ids = frozenset(pod_ids)
        self._on_notice = on_notice
        self._noticed: Set[str] = set()
        self._failures = 0
        self._parser = EventStreamParser()
        self._opened_at: Optional[float] = None
        self._has_told = False
        self._filter: Dict[str, Any] = {
            "event_types": ",".join(event_types) or None,
            "categories": ",".join(categories) or None,
            # A stream filters by one inbox; several are filtered here.
            "inbox_id": inbox_ids[0] if len(inbox_ids) == 1 and not pod_ids else None,
        }

    def begin(self) -> Steps[List[Event]]:
        """Finds the position in the log, so that nothing is lost before the first event.

        Returns the events to yield first.
        """
        if self._after is not None and (yield from self._is_place(self._after)):
            return []
        page = yield from self._page(order="desc", limit=1)
        if page:
            self._after = page[0]["event_id"]
            return []
        # The log is empty, so every event is new.
        while not page:
            yield Pause(EMPTY_LOG_SECONDS)
            page = yield from self._page(limit=1)
        first = yield from self._page(**self._filter)
        self._after = (first or page)[-1]["event_id"]
        return [event for event in first if self._is_wanted(event)]

    def _is_place(self, after: str) -> Steps[bool]:
        try:
            yield from self._page(after=after, limit=1)
        except MailroomError as error:
            if error.status != 400:
                raise
            self._notice(error.message)
            return False
        return True

    def _page(self, **query: Any) -> Steps[List[Event]]:
        return (yield from page_of(self._options, Call("events.list", query=query))).data

    def call(self) -> Call:
        """The request for the stream."""
        self._parser = EventStreamParser()
        self._opened_at = None
        self._has_told = False
        headers = {"last-event-id": self._after}
        return Call("events.stream", query=self._filter, headers=headers)

    def opened(self) -> None:
        self._opened_at = time.monotonic()

    def feed(self, octets: bytes) -> List[Event]:
        events: List[Event] = []
        for sent in self._parser.feed(octets):
            if sent.comment:
                self._notice(sent.comment)
                continue
            event = event_of(sent.data)
            self._has_told = True
            self._after = event["event_id"]
            if self._is_wanted(event):
                events.append(event)
        return events

    def wait_after(self, failure: Optional[Exception]) -> float:
        """Seconds until the next connection. Raises if reconnecting cannot help."""
        if failure is not None and not is_passing(failure):
            raise failure
        lasted = 0.0 if self._opened_at is None else time.monotonic() - self._opened_at
        is_good = self._has_told or lasted >= GOOD_SECONDS
        self._failures = 0 if is_good else self._failures + 1
        if self._opened_at is not None:
            # The service responded before, so only the connection broke, and a long wait would not help.
            self._failures = min(self._failures, OPENED_FAILURES_MAX)
        asked = failure.retry_after if isinstance(failure, MailroomError) else None
        return max(backoff(self._failures, BACKOFF_MAX), min(float(asked or 0), 60.0))

    def _is_wanted(self, event: Event) -> bool:
        if not self._inbox_ids and not self._pod_ids:
            return True
        return event.get("inbox_id") in self._inbox_ids or event.get("pod_id") in self._pod_ids

    def _notice(self, notice: str) -> None:
        if notice not in self._noticed and self._on_notice is not None:
            self._on_notice(notice)
        self._noticed.add(notice)
