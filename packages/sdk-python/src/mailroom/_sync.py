"""The blocking client: runs the steps of procedures over sockets."""

from __future__ import annotations

import time
from contextlib import suppress
from itertools import islice
from typing import (
    Any,
    Callable,
    Generator,
    Generic,
    Iterator,
    List,
    Mapping,
    Optional,
    Sequence,
    TypeVar,
    Union,
)

from ._core import (
    Answer,
    Attempt,
    Call,
    DownloadedFile,
    Options,
    Step,
    Steps,
    View,
    error_of,
    file_of,
    json_of,
    nothing_of,
    request_of,
    text_of,
    view_of,
)
from ._follow import SILENCE_SECONDS, Follower
from ._http import Connections, Exchange, Failures, Interrupt, Interrupted
from ._procedures import (
    EventPager,
    Page,
    Pager,
    Wanted,
    first_of,
    limited,
    page_of,
    replying_in_thread,
    replying_to,
    until_done,
    waiting,
)
from .errors import MailroomConnectionError, MailroomError
from .types import (
    Direction,
    Erasure,
    Event,
    EventType,
    Export,
    Import,
    Message,
    MessageCategory,
    ReceivedMail,
    SentMessage,
)

T = TypeVar("T")


class Transport:
    def __init__(
        self, options: Options, connections: Connections, interrupt: Optional[Interrupt] = None
    ) -> None:
        self.options = options
        self.connections = connections
        self._interrupt = interrupt

    def interruptible(self, interrupt: Interrupt) -> Transport:
        return Transport(self.options, self.connections, interrupt)

    def run(self, steps: Steps[T]) -> T:
        try:
            step = next(steps)
            while True:
                try:
                    outcome = self._perform(step)
                except Exception as error:
                    step = steps.throw(error)
                else:
                    step = steps.send(outcome)
        except StopIteration as end:
            return end.value

    def _perform(self, step: Step) -> Optional[Answer]:
        if isinstance(step, Attempt):
            return self.connections.exchange(step.request, self._interrupt)
        if self._interrupt is not None:
            self._interrupt.pause(step.seconds)
        else:
            time.sleep(step.seconds)
        return None

    def stream(self, call: Call) -> ByteStream:
        request = request_of(self.options, call)
        exchange = self.connections.open(request, SILENCE_SECONDS, self._interrupt)
        if 200 <= exchange.status < 300:
            return ByteStream(exchange, self._interrupt)
        try:
            with Failures(self._interrupt):
                raise error_of(Answer(exchange.status, exchange.headers, exchange.read()))
        finally:
            exchange.close()


class ByteStream:
    """The body of a response: `with client.events.stream() as stream: for piece in stream`."""

    def __init__(self, exchange: Exchange, interrupt: Optional[Interrupt]) -> None:
        self._exchange = exchange
        self._interrupt = interrupt

    def __iter__(self) -> Iterator[bytes]:
        with Failures(self._interrupt):
            yield from self._exchange.pieces()

    def __enter__(self) -> ByteStream:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        if self._interrupt is not None:
            self._interrupt.release()
        self._exchange.close()


class Listing(Generic[T]):
    """A list: `for item in listing` reads page after page, `listing.page()` one page.

    Items added during the iteration are not repeated; removed items may cause others to be skipped.
    """

    def __init__(self, transport: Transport, call: Call) -> None:
        self._transport = transport
        self._call = call
        self._first_page: Optional[Page[T]] = None

    @property
    def data(self) -> List[T]:
        """The entries of the first page, which is read once."""
        return self._read_once().data

    @property
    def total(self) -> int:
        """The number of entries on all pages, as of the first page, which is read once."""
        return self._read_once().total

    def _read_once(self) -> Page[T]:
        if self._first_page is None:
            self._first_page = self.page()
        return self._first_page

    def page(self) -> Page[T]:
        return self._transport.run(page_of(self._transport.options, self._call))

    def first(self) -> Optional[T]:
        """The first entry, or None."""
        page = self._transport.run(page_of(self._transport.options, first_of(self._call)))
        return page.data[0] if page.data else None

    def all(self, *, max: Optional[int] = None) -> List[T]:
        """The entries of all pages, or the first `max`."""
        listing = type(self)(self._transport, limited(self._call, max))
        return list(islice(listing, max))

    def __iter__(self) -> Iterator[T]:
        pager = self._pager()
        while not pager.is_done:
            page = self._transport.run(page_of(self._transport.options, pager.next()))
            yield from pager.take(page)

    def _pager(self) -> Union[Pager, EventPager]:
        return Pager(self._call)


class EventListing(Listing[Event]):
    """The log: `for event in listing` reads to its end, with `order="desc"` to its beginning.

    Each page starts after the last event, so no event is missed or repeated while the log grows.
    """

    def _pager(self) -> EventPager:
        return EventPager(self._call)


class Following(Iterator[Event]):
    """An endless iterator of events. `close()` ends it, even from another thread during `next`."""

    def __init__(self, transport: Transport, follower: Follower) -> None:
        self._interrupt = Interrupt()
        self._events = self._follow(transport.interruptible(self._interrupt), follower)

    def __iter__(self) -> Following:
        return self

    def __next__(self) -> Event:
        try:
            return next(self._events)
        except Interrupted:
            raise StopIteration from None

    def __enter__(self) -> Following:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._interrupt.set()
        # A thread that waits in the iterator ends it itself.
        with suppress(ValueError):
            self._events.close()

    def _follow(self, transport: Transport, follower: Follower) -> Generator[Event, None, None]:
        has_begun = False
        while True:
            failure: Optional[Exception] = None
            try:
                if not has_begun:
                    yield from transport.run(follower.begin())
                    has_begun = True
                with transport.stream(follower.call()) as stream:
                    follower.opened()
                    for octets in stream:
                        for event in follower.feed(octets):
                            self._interrupt.check()
                            yield event
            except (MailroomError, MailroomConnectionError) as error:
                failure = error
            self._interrupt.pause(follower.wait_after(failure))


class Namespace:
    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def _json(self, id: str, **parts: Any) -> Any:
        return self._transport.run(json_of(self._transport.options, Call(id, **parts)))

    def _nothing(self, id: str, **parts: Any) -> None:
        self._transport.run(nothing_of(self._transport.options, Call(id, **parts)))

    def _text(self, id: str, **parts: Any) -> str:
        return self._transport.run(text_of(self._transport.options, Call(id, **parts)))

    def _file(self, id: str, **parts: Any) -> DownloadedFile:
        return self._transport.run(file_of(self._transport.options, Call(id, **parts)))

    def _view(self, id: str, **parts: Any) -> View:
        return self._transport.run(view_of(self._transport.options, Call(id, **parts)))

    def _stream(self, id: str, **parts: Any) -> ByteStream:
        return self._transport.stream(Call(id, **parts))

    def _list(self, id: str, **parts: Any) -> Listing[Any]:
        return Listing(self._transport, Call(id, **parts))

    def _events(self, id: str, **parts: Any) -> EventListing:
        return EventListing(self._transport, Call(id, **parts))

    def _reply(
        self, id: str, message: Union[Mapping[str, Any], str], **parts: Any
    ) -> SentMessage:
        steps = replying_to(self._transport.options, message, Call(id, **parts))
        return self._transport.run(steps)

    def _reply_in_thread(self, id: str, **parts: Any) -> SentMessage:
        steps = replying_in_thread(self._transport.options, Call(id, **parts))
        return self._transport.run(steps)

    def _until_done(self, id: str, of_id: str, told: Optional[Callable[[Any], object]]) -> Any:
        call = Call(id, path={"id": of_id})
        return self._transport.run(until_done(self._transport.options, call, told))


class MoreOfInboxes(Namespace):
    def wait_for_message(
        self,
        inbox_id: str,
        *,
        timeout: float = 30.0,
        after: Optional[str] = None,
        from_: Optional[str] = None,
        subject: Optional[str] = None,
        thread_id: Optional[str] = None,
        category: Optional[MessageCategory] = None,
        direction: Direction = "inbound",
    ) -> Optional[Message]:
        """The first matching message, or None after `timeout` seconds, which may be days.

        Without `after`, only messages match that arrive after the call has read the inbox. If you caused
        the mail before the call, pass `after`, the id of a message or an event: messages that arrived
        after it match too. `from_` and `subject` match part of the text, ignoring case.

        A sent message matches once its outcome is known. Without `after`, this includes later messages and any
        of the newest hundred that were pending at the start. An older message matches only if its outcome
        becomes known during a request, which is nearly always the case.
        """
        wanted = Wanted(inbox_id, after, from_, subject, thread_id, category, direction)
        return self._transport.run(waiting(self._transport.options, wanted, timeout))


class MoreOfEvents(Namespace):
    def follow(
        self,
        *,
        after: Optional[str] = None,
        inbox_ids: Sequence[str] = (),
        pod_ids: Sequence[str] = (),
        event_types: Sequence[EventType] = (),
        categories: Sequence[MessageCategory] = (),
        on_notice: Optional[Callable[[str], object]] = None,
    ) -> Following:
        """Every event from now on, or after the event `after`, once and in log order.

        Never ends, and reconnects when the connection breaks:
        `for event in client.events.follow()`.
        `inbox_ids` adds inboxes to the inboxes of `pod_ids`. `categories` limits events of received mail;
        other events are not affected. `on_notice` is called once for each part of the request that the service
        ignored, such as an unknown `after` or kind. Raises MailroomError for an invalid or revoked key, or
        for a request that the service refuses.
        """
        follower = Follower(
            self._transport.options,
            after=after,
            inbox_ids=inbox_ids,
            pod_ids=pod_ids,
            event_types=event_types,
            categories=categories,
            on_notice=on_notice,
        )
        return Following(self._transport, follower)


class MoreOfSandbox(Namespace):
    def receive_raw(
        self,
        raw: bytes,
        *,
        from_: Optional[str] = None,
        to: Optional[Sequence[str]] = None,
    ) -> ReceivedMail:
        """`receive` with a complete message (RFC 5322).

        Needs an envelope unless its header names sender and recipients.
        """
        headers = {"content-type": "message/rfc822"}
        query = {"from": from_, "to": to}
        return self._json("sandbox.receive", query=query, file=raw, headers=headers)


class MoreOfExports(Namespace):
    def stream(self, export_id: str) -> ByteStream:
        """Reads the file piece by piece; `download` holds it in memory."""
        return self._stream("exports.download", path={"id": export_id})

    def until_done(
        self, export_id: str, *, on_progress: Optional[Callable[[Export], object]] = None
    ) -> Export:
        """Returns once the export is done, failed or expired."""
        return self._until_done("exports.get", export_id, on_progress)


class MoreOfImports(Namespace):
    def until_done(
        self, import_id: str, *, on_progress: Optional[Callable[[Import], object]] = None
    ) -> Import:
        """Returns once the import is done or failed."""
        return self._until_done("imports.get", import_id, on_progress)


class MoreOfErasures(Namespace):
    def until_done(
        self, erasure_id: str, *, on_progress: Optional[Callable[[Erasure], object]] = None
    ) -> Erasure:
        """Returns once everything is removed."""
        return self._until_done("erasures.get", erasure_id, on_progress)
