"""The asynchronous client: runs the steps of procedures with httpx and asyncio."""

from __future__ import annotations

import asyncio
from contextlib import contextmanager
from typing import (
    Any,
    AsyncIterator,
    Callable,
    Generator,
    Generic,
    List,
    Mapping,
    Optional,
    Sequence,
    TypeVar,
    Union,
)

import httpx

from ._core import (
    Answer,
    Attempt,
    Call,
    DownloadedFile,
    Headers,
    Options,
    Request,
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
from .errors import MailroomConnectionError, MailroomError, MailroomTimeoutError
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

PIECE_BYTES = 64 * 1024


class AsyncTransport:
    def __init__(self, options: Options, http: httpx.AsyncClient) -> None:
        self.options = options
        self.http = http

    async def run(self, steps: Steps[T]) -> T:
        try:
            step = next(steps)
            while True:
                try:
                    outcome = await self._perform(step)
                except Exception as error:
                    step = steps.throw(error)
                else:
                    step = steps.send(outcome)
        except StopIteration as end:
            return end.value

    async def _perform(self, step: Step) -> Optional[Answer]:
        if isinstance(step, Attempt):
            with failures():
                return await asyncio.wait_for(self._exchange(step.request), step.request.timeout)
        await asyncio.sleep(step.seconds)
        return None

    async def _exchange(self, request: Request) -> Answer:
        response = await self.http.send(self._built(request))
        return Answer(response.status_code, Headers(response.headers), response.content)

    def _built(self, request: Request) -> httpx.Request:
        headers = dict(request.headers)
        content: Any = request.body
        if content is not None and not isinstance(content, bytes):
            headers["content-length"] = str(request.length)
            content = pieces_of(content)
        return self.http.build_request(
            request.method, request.url, headers=headers, content=content
        )

    async def stream(self, call: Call) -> AsyncByteStream:
        request = request_of(self.options, call)
        with failures():
            sending = self.http.send(self._built(request), stream=True)
            response = await asyncio.wait_for(sending, request.timeout)
            if response.is_success:
                return AsyncByteStream(response)
            try:
                body = await asyncio.wait_for(response.aread(), request.timeout)
            finally:
                await response.aclose()
        raise error_of(Answer(response.status_code, Headers(response.headers), body))


@contextmanager
def failures() -> Generator[None, None, None]:
    """Converts exceptions of httpx to exceptions of this package."""
    try:
        yield
    except (asyncio.TimeoutError, httpx.TimeoutException) as cause:
        raise MailroomTimeoutError("The service did not respond in time.") from cause
    except (httpx.HTTPError, httpx.StreamError, OSError) as cause:
        message = f"The service could not be reached, or its response was cut off: {cause!r}"
        raise MailroomConnectionError(message) from cause


async def pieces_of(path: Any) -> AsyncIterator[bytes]:
    with open(path, "rb") as file:
        while piece := await asyncio.to_thread(file.read, PIECE_BYTES):
            yield piece


class AsyncByteStream:
    """The body of a response, piece by piece: `async with stream: async for piece in stream`."""

    def __init__(self, response: httpx.Response) -> None:
        self._response = response

    async def __aiter__(self) -> AsyncIterator[bytes]:
        pieces = self._response.aiter_raw().__aiter__()
        with failures():
            while True:
                try:
                    piece = await asyncio.wait_for(pieces.__anext__(), SILENCE_SECONDS)
                except StopAsyncIteration:
                    return
                yield piece

    async def __aenter__(self) -> AsyncByteStream:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        await self._response.aclose()


class AsyncListing(Generic[T]):
    """A list: `async for item in listing` reads page after page, `await listing` one page.

    Items added during the iteration are not repeated; removed items may cause others to be skipped.
    """

    def __init__(self, transport: AsyncTransport, call: Call) -> None:
        self._transport = transport
        self._call = call

    async def page(self) -> Page[T]:
        return await self._transport.run(page_of(self._transport.options, self._call))

    def __await__(self) -> Generator[Any, None, Page[T]]:
        return self.page().__await__()

    async def first(self) -> Optional[T]:
        """The first entry, or None."""
        page = await self._transport.run(page_of(self._transport.options, first_of(self._call)))
        return page.data[0] if page.data else None

    async def all(self, *, max: Optional[int] = None) -> List[T]:
        """The entries of all pages, or the first `max`."""
        entries: List[T] = []
        if max is not None and max < 1:
            return entries
        async for entry in type(self)(self._transport, limited(self._call, max)):
            entries.append(entry)
            if len(entries) == max:
                break
        return entries

    async def __aiter__(self) -> AsyncIterator[T]:
        pager = self._pager()
        while not pager.is_done:
            page = await self._transport.run(page_of(self._transport.options, pager.next()))
            for item in pager.take(page):
                yield item

    def _pager(self) -> Union[Pager, EventPager]:
        return Pager(self._call)


class AsyncEventListing(AsyncListing[Event]):
    """The log: `async for event in listing` reads to its end, with `order="desc"` to its beginning.

    Each page starts after the last event, so no event is missed or repeated while the log grows.
    """

    def _pager(self) -> EventPager:
        return EventPager(self._call)


async def follow(transport: AsyncTransport, follower: Follower) -> AsyncIterator[Event]:
    has_begun = False
    while True:
        failure: Optional[Exception] = None
        try:
            if not has_begun:
                for event in await transport.run(follower.begin()):
                    yield event
                has_begun = True
            async with await transport.stream(follower.call()) as stream:
                follower.opened()
                async for octets in stream:
                    for event in follower.feed(octets):
                        yield event
        except (MailroomError, MailroomConnectionError) as error:
            failure = error
        await asyncio.sleep(follower.wait_after(failure))


class Namespace:
    def __init__(self, transport: AsyncTransport) -> None:
        self._transport = transport

    async def _json(self, id: str, **parts: Any) -> Any:
        return await self._transport.run(json_of(self._transport.options, Call(id, **parts)))

    async def _nothing(self, id: str, **parts: Any) -> None:
        await self._transport.run(nothing_of(self._transport.options, Call(id, **parts)))

    async def _text(self, id: str, **parts: Any) -> str:
        return await self._transport.run(text_of(self._transport.options, Call(id, **parts)))

    async def _file(self, id: str, **parts: Any) -> DownloadedFile:
        return await self._transport.run(file_of(self._transport.options, Call(id, **parts)))

    async def _view(self, id: str, **parts: Any) -> View:
        return await self._transport.run(view_of(self._transport.options, Call(id, **parts)))

    async def _stream(self, id: str, **parts: Any) -> AsyncByteStream:
        return await self._transport.stream(Call(id, **parts))

    def _list(self, id: str, **parts: Any) -> AsyncListing[Any]:
        return AsyncListing(self._transport, Call(id, **parts))

    def _events(self, id: str, **parts: Any) -> AsyncEventListing:
        return AsyncEventListing(self._transport, Call(id, **parts))

    async def _reply(
        self, id: str, message: Union[Mapping[str, Any], str], **parts: Any
    ) -> SentMessage:
        steps = replying_to(self._transport.options, message, Call(id, **parts))
        return await self._transport.run(steps)

    async def _reply_in_thread(self, id: str, **parts: Any) -> SentMessage:
        steps = replying_in_thread(self._transport.options, Call(id, **parts))
        return await self._transport.run(steps)

    async def _until_done(
        self, id: str, of_id: str, told: Optional[Callable[[Any], object]]
    ) -> Any:
        call = Call(id, path={"id": of_id})
        return await self._transport.run(until_done(self._transport.options, call, told))


class MoreOfInboxes(Namespace):
    async def wait_for_message(
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
        return await self._transport.run(waiting(self._transport.options, wanted, timeout))


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
    ) -> AsyncIterator[Event]:
        """Every event from now on, or after the event `after`, once and in log order.

        Never ends, and reconnects when the connection breaks:
        `async for event in client.events.follow()`.
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
        return follow(self._transport, follower)


class MoreOfSandbox(Namespace):
    async def receive_raw(
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
        return await self._json("sandbox.receive", query=query, file=raw, headers=headers)


class MoreOfExports(Namespace):
    async def stream(self, export_id: str) -> AsyncByteStream:
        """Reads the file piece by piece; `download` holds it in memory."""
        return await self._stream("exports.download", path={"id": export_id})

    async def until_done(
        self, export_id: str, *, on_progress: Optional[Callable[[Export], object]] = None
    ) -> Export:
        """Returns once the export is done, failed or expired."""
        return await self._until_done("exports.get", export_id, on_progress)


class MoreOfImports(Namespace):
    async def until_done(
        self, import_id: str, *, on_progress: Optional[Callable[[Import], object]] = None
    ) -> Import:
        """Returns once the import is done or failed."""
        return await self._until_done("imports.get", import_id, on_progress)


class MoreOfErasures(Namespace):
    async def until_done(
        self, erasure_id: str, *, on_progress: Optional[Callable[[Erasure], object]] = None
    ) -> Erasure:
        """Returns once everything is removed."""
        return await self._until_done("erasures.get", erasure_id, on_progress)
