"""The asynchronous client, for asyncio. Needs httpx."""

from __future__ import annotations

import asyncio
import ssl
from dataclasses import dataclass, replace
from typing import Any, Awaitable, Callable, Dict, Optional, Sequence, Set, Tuple, TypeVar, Union

import httpx

from ._async import AsyncTransport
from ._async_methods import Namespaces
from ._core import NOT_GIVEN, NotGiven, Options, Response, Responses, SentRequest, api_key_of, base_url_of
from ._work import Job, claiming, keeping, releasing
from .types import ClaimedThread, MessageCategory

T = TypeVar("T")


class AsyncMailroom(Namespaces):
    """An asynchronous client for one account; otherwise like `Mailroom`."""

    def __init__(
        self,
        base_url: Optional[str] = None,
        api_key: Optional[str] = None,
        *,
        timeout: Optional[float] = None,
        max_retries: int = 4,
        lease_token: Optional[str] = None,
        on_request: Optional[Callable[[SentRequest], object]] = None,
        on_response: Optional[Callable[[Response], object]] = None,
        proxy: Optional[str] = None,
        ssl_context: Optional[ssl.SSLContext] = None,
    ) -> None:
        url = base_url_of(base_url)
        key = api_key_of(api_key)
        options = Options(url, key, timeout, max_retries, lease_token, on_request, on_response)
        if url.startswith("https:") and ssl_context is None:
            ssl_context = ssl.create_default_context()
        carrier = httpx.AsyncHTTPTransport(
            # Without TLS there is nothing to verify, and loading the authorities takes time.
            verify=ssl_context or False,
            proxy=None if proxy is None else httpx.Proxy(proxy),
            trust_env=False,
        )
        self._use(
            AsyncTransport(
                options, httpx.AsyncClient(transport=carrier, timeout=None, trust_env=False)
            )
        )

    def _use(self, transport: AsyncTransport) -> None:
        self._transport = transport
        super().__init__(transport)

    async def __aenter__(self) -> AsyncMailroom:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Closes the connections, which clients made by `with_options` share."""
        await self._transport.http.aclose()

    def with_options(
        self,
        *,
        timeout: Union[float, None, NotGiven] = NOT_GIVEN,
        max_retries: Union[int, NotGiven] = NOT_GIVEN,
        lease_token: Union[str, None, NotGiven] = NOT_GIVEN,
        on_request: Union[Callable[[SentRequest], object], None, NotGiven] = NOT_GIVEN,
        on_response: Union[Callable[[Response], object], None, NotGiven] = NOT_GIVEN,
    ) -> AsyncMailroom:
        """A client with other options, for one request or many."""
        given: Dict[str, Any] = {
            "timeout": timeout,
            "max_retries": max_retries,
            "lease_token": lease_token,
            "on_request": on_request,
            "on_response": on_response,
        }
        changes = {name: value for name, value in given.items() if not isinstance(value, NotGiven)}
        options = replace(self._transport.options, **changes)
        client = AsyncMailroom.__new__(AsyncMailroom)
        client._use(AsyncTransport(options, self._transport.http))
        return client

    async def with_response(
        self, call: Callable[[AsyncMailroom], Awaitable[T]]
    ) -> Tuple[T, Response]:
        """The result of a call, and the response that it is from.

        `thread, response = await client.with_response(lambda mail: mail.threads.get(thread_id))`
        """
        responses = Responses(self._transport.options.on_response)
        result = await call(self.with_options(on_response=responses))
        return result, responses.last()

    def with_lease(self, lease_token: str) -> AsyncMailroom:
        """A client that sends the token of a claim, so that it may change the thread and send in it."""
        return self.with_options(lease_token=lease_token)

    async def work(
        self,
        inbox_id: str,
        handle: Callable[[ClaimedThread, AsyncWorkContext], Awaitable[Optional[bool]]],
        *,
        owner: str,
        lease_seconds: int = 60,
        concurrency: int = 1,
        category: Optional[MessageCategory] = None,
        labels: Optional[Sequence[str]] = None,
        stop: Optional[asyncio.Event] = None,
        on_error: Optional[Callable[[Exception, ClaimedThread], object]] = None,
    ) -> None:
        """Like `Mailroom.work`, with a task per thread, which is cancelled when its lease is lost."""
        job = Job(inbox_id, owner, lease_seconds, concurrency, category, labels)
        running: Set[asyncio.Task[None]] = set()
        stopped = asyncio.ensure_future((stop or asyncio.Event()).wait())
        try:
            while not stopped.done():
                if len(running) >= concurrency:
                    await asyncio.wait({stopped, *running}, return_when=asyncio.FIRST_COMPLETED)
                    continue
                steps = claiming(self._transport.options, job, concurrency - len(running))
                asked = asyncio.ensure_future(self._transport.run(steps))
                try:
                    await asyncio.wait({stopped, asked}, return_when=asyncio.FIRST_COMPLETED)
                finally:
                    if not asked.done():
                        asked.cancel()
                if not asked.done() or asked.cancelled():
                    break
                for claim in asked.result():
                    task = asyncio.ensure_future(self._carry_out(job, claim, handle, on_error))
                    running.add(task)
                    task.add_done_callback(running.discard)
        finally:
            stopped.cancel()
            await asyncio.gather(*running)

    async def _carry_out(
        self,
        job: Job,
        claim: ClaimedThread,
        handle: Callable[[ClaimedThread, AsyncWorkContext], Awaitable[Optional[bool]]],
        on_error: Optional[Callable[[Exception, ClaimedThread], object]],
    ) -> None:
        mail = self.with_lease(claim["leaseToken"])
        transport = mail._transport
        kept = asyncio.ensure_future(transport.run(keeping(transport.options, claim, job)))
        handled = asyncio.ensure_future(handle(claim, AsyncWorkContext(mail)))
        try:
            await asyncio.wait({kept, handled}, return_when=asyncio.FIRST_COMPLETED)
            if not handled.done():
                handled.cancel()
                await asyncio.wait({handled})
                raise kept.result()
            is_read = handled.result()
            kept.cancel()
            await transport.run(releasing(transport.options, claim, is_read))
        except Exception as error:
            if on_error is not None:
                on_error(error, claim)
        finally:
            kept.cancel()
            handled.cancel()


@dataclass(frozen=True)
class AsyncWorkContext:
    mail: AsyncMailroom
    """A client that may change the thread and send in it, as long as the lease lasts."""
