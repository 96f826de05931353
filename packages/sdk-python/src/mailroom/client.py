"""The blocking client. Needs only the standard library."""

from __future__ import annotations

import ssl
import threading
from dataclasses import dataclass, replace
from typing import Any, Callable, Dict, Optional, Sequence, Set, Tuple, TypeVar, Union

from ._core import NOT_GIVEN, NotGiven, Options, Response, Responses, SentRequest, api_key_of, base_url_of
from ._http import Connections, Interrupt, Interrupted
from ._sync import Transport
from ._sync_methods import Namespaces
from ._work import Job, claiming, keeping, releasing
from .types import ClaimedThread, MessageCategory

T = TypeVar("T")


class Mailroom(Namespaces):
    """A thread-safe client for one account.

    Every method raises MailroomError if the service refuses the request, and MailroomConnectionError if
    there is no response. Requests that cannot take effect twice are retried first, up to `max_retries`
    times (default 4, 0 for none).

    `base_url` is the URL of the service, such as `https://mail.example.com`, by default MAILROOM_BASE_URL in the
    environment; `api_key` an account's key, by default MAILROOM_API_KEY, or the operator's token for `admin`
    and `service.metrics`. `timeout` is the limit of one attempt including
    its complete response in seconds, by default 30 plus one for each 256 KiB of its body. `proxy` is the URL
    of an HTTP proxy; it is not read from the environment. `ssl_context` replaces the default one.
    `on_request` and `on_response` are called for each attempt of a request, except streams. The logger
    `mailroom` reports attempts at level DEBUG, without URLs and keys.
    """

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
        self._use(Transport(options, Connections(url, proxy, ssl_context)))

    def _use(self, transport: Transport) -> None:
        self._transport = transport
        super().__init__(transport)

    def __enter__(self) -> Mailroom:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Closes the idle connections, which clients made by `with_options` share."""
        self._transport.connections.close()

    def with_options(
        self,
        *,
        timeout: Union[float, None, NotGiven] = NOT_GIVEN,
        max_retries: Union[int, NotGiven] = NOT_GIVEN,
        lease_token: Union[str, None, NotGiven] = NOT_GIVEN,
        on_request: Union[Callable[[SentRequest], object], None, NotGiven] = NOT_GIVEN,
        on_response: Union[Callable[[Response], object], None, NotGiven] = NOT_GIVEN,
    ) -> Mailroom:
        """A client with other options, for one request or many.

        `client.with_options(timeout=5).inboxes.get(inbox_id)`
        """
        given: Dict[str, Any] = {
            "timeout": timeout,
            "max_retries": max_retries,
            "lease_token": lease_token,
            "on_request": on_request,
            "on_response": on_response,
        }
        changes = {name: value for name, value in given.items() if not isinstance(value, NotGiven)}
        options = replace(self._transport.options, **changes)
        client = Mailroom.__new__(Mailroom)
        client._use(Transport(options, self._transport.connections))
        return client

    def with_response(self, call: Callable[[Mailroom], T]) -> Tuple[T, Response]:
        """The result of a call, and the response that it is from.

        `thread, response = client.with_response(lambda mail: mail.threads.get(thread_id))`
        """
        responses = Responses(self._transport.options.on_response)
        result = call(self.with_options(on_response=responses))
        return result, responses.last()

    def with_lease(self, lease_token: str) -> Mailroom:
        """A client that sends the token of a claim, so that it may change the thread and send in it."""
        return self.with_options(lease_token=lease_token)

    def work(
        self,
        inbox_id: str,
        handle: Callable[[ClaimedThread, WorkContext], Optional[bool]],
        *,
        owner: str,
        lease_seconds: int = 60,
        concurrency: int = 1,
        category: Optional[MessageCategory] = None,
        labels: Optional[Sequence[str]] = None,
        stop: Optional[threading.Event] = None,
        on_error: Optional[Callable[[Exception, ClaimedThread], object]] = None,
    ) -> None:
        """Claims threads of the inbox and calls `handle` for each, in a thread of its own.

        At most `concurrency` are handled at the same time, and their leases are renewed. Afterwards
        a thread is released, and marked as read unless `handle` returns False. If `handle` raises, `on_error`
        is called and the thread is left unchanged: it can be claimed again once the lease expires. Once
        `stop` is set, returns when the current threads are done. Raises if the service refuses to claim
        threads, for example because of an invalid key; retries while the service is unavailable. `owner` is
        the name of the worker, for people.
        """
        job = Job(inbox_id, owner, lease_seconds, concurrency, category, labels)
        _Work(self, self._transport, job, handle, on_error).run(stop or threading.Event())


@dataclass(frozen=True)
class WorkContext:
    mail: Mailroom
    """A client that may change the thread and send in it, as long as the lease lasts."""
    lost: threading.Event
    """Set when the lease is lost: another worker may have the thread. Stop then.

    The service refuses late requests.
    """


STOP_SECONDS = 0.2


class _Work:
    def __init__(
        self,
        client: Mailroom,
        transport: Transport,
        job: Job,
        handle: Callable[[ClaimedThread, WorkContext], Optional[bool]],
        on_error: Optional[Callable[[Exception, ClaimedThread], object]],
    ) -> None:
        self._client = client
        self._transport = transport
        self._job = job
        self._handle = handle
        self._on_error = on_error
        self._running: Set[threading.Thread] = set()
        self._changed = threading.Condition()

    def run(self, stop: threading.Event) -> None:
        interrupt = Interrupt()
        transport = self._transport.interruptible(interrupt)
        over = threading.Event()
        threading.Thread(target=self._watch, args=(stop, over, interrupt), daemon=True).start()
        try:
            while not stop.is_set():
                free = self._wait_for_room(stop)
                if free == 0:
                    break
                for claim in transport.run(claiming(transport.options, self._job, free)):
                    self._start(claim)
        except Interrupted:
            pass
        finally:
            over.set()
            for thread in list(self._running):
                thread.join()

    def _watch(self, stop: threading.Event, over: threading.Event, interrupt: Interrupt) -> None:
        while not over.is_set():
            if stop.wait(STOP_SECONDS):
                interrupt.set()
                return

    def _wait_for_room(self, stop: threading.Event) -> int:
        with self._changed:
            while not stop.is_set():
                free = self._job.concurrency - len(self._running)
                if free > 0:
                    return free
                self._changed.wait(STOP_SECONDS)
        return 0

    def _start(self, claim: ClaimedThread) -> None:
        thread = threading.Thread(target=self._carry_out, args=(claim,))
        with self._changed:
            self._running.add(thread)
        thread.start()

    def _carry_out(self, claim: ClaimedThread) -> None:
        mail = self._client.with_lease(claim["leaseToken"])
        transport = Transport(
            replace(self._transport.options, lease_token=claim["leaseToken"]),
            self._transport.connections,
        )
        lease = _Lease(transport, claim, self._job)
        try:
            try:
                is_read = self._handle(claim, WorkContext(mail, lease.lost))
            finally:
                lease.stop()
            if lease.reason is not None:
                raise lease.reason
            transport.run(releasing(transport.options, claim, is_read))
        except Exception as error:
            if self._on_error is not None:
                self._on_error(error, claim)
        finally:
            with self._changed:
                self._running.discard(threading.current_thread())
                self._changed.notify()


class _Lease:
    """Renews a lease in a thread of its own."""

    def __init__(self, transport: Transport, claim: ClaimedThread, job: Job) -> None:
        self.lost = threading.Event()
        self.reason: Optional[Exception] = None
        self._interrupt = Interrupt()
        self._transport = transport.interruptible(self._interrupt)
        self._steps = keeping(transport.options, claim, job)
        self._thread = threading.Thread(target=self._keep, daemon=True)
        self._thread.start()

    def _keep(self) -> None:
        try:
            self.reason = self._transport.run(self._steps)
            self.lost.set()
        except Interrupted:
            pass

    def stop(self) -> None:
        self._interrupt.set()
        self._thread.join()
