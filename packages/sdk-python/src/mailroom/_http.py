"""Requests over blocking sockets, with kept connections, a deadline for the response, and proxies."""

from __future__ import annotations

import base64
import http.client
import io
import socket
import ssl
import threading
import time
from contextlib import suppress
from typing import Any, Dict, Iterator, List, Optional, Tuple, Union
from urllib.parse import unquote, urlsplit

from ._core import Answer, Headers, Request
from .errors import MailroomConnectionError, MailroomTimeoutError

IDLE_SECONDS_MAX = 20.0
"""The service closes idle connections after 30 seconds."""
IDLE_CONNECTIONS_MAX = 16
PIECE_BYTES = 64 * 1024


class Interrupted(Exception):
    """Raised when the caller ends a request from another thread."""


class Interrupt:
    """Ends the current and later requests and pauses of one thread from another."""

    def __init__(self) -> None:
        self._event = threading.Event()
        self._lock = threading.Lock()
        self._sock: Optional[socket.socket] = None

    @property
    def is_set(self) -> bool:
        return self._event.is_set()

    def set(self) -> None:
        with self._lock:
            self._event.set()
            if self._sock is not None:
                shut(self._sock)

    def watch(self, sock: socket.socket) -> None:
        with self._lock:
            self._sock = sock
        self.check()

    def release(self) -> None:
        with self._lock:
            self._sock = None

    def pause(self, seconds: float) -> None:
        if self._event.wait(seconds):
            raise Interrupted

    def check(self) -> None:
        if self._event.is_set():
            raise Interrupted


def shut(sock: socket.socket) -> None:
    """Wakes a thread that waits for the socket. The method of TLS sockets would not wake it."""
    with suppress(OSError):
        socket.socket.shutdown(sock, socket.SHUT_RDWR)


class Deadline:
    def __init__(self, seconds: float) -> None:
        self._end = time.monotonic() + seconds

    def rest(self) -> float:
        rest = self._end - time.monotonic()
        if rest <= 0:
            raise TimeoutError("timed out")
        return rest


class Silence:
    """A time limit for each read instead of the complete response."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds

    def rest(self) -> float:
        return self._seconds


Limit = Union[Deadline, Silence]


class LimitedSocket(io.RawIOBase):
    """The source of a response; each read gets the remaining time."""

    def __init__(self, sock: socket.socket, limit: Limit) -> None:
        self._sock = sock
        self._file: Any = sock.makefile("rb", buffering=0)
        self.limit = limit

    def makefile(self, _mode: str) -> io.BufferedReader:
        return io.BufferedReader(self, PIECE_BYTES)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> Optional[int]:
        self._sock.settimeout(self.limit.rest())
        return self._file.readinto(buffer)

    def close(self) -> None:
        if not self.closed:
            self._file.close()
        super().close()


class Exchange:
    """A sent request and the head of its response."""

    def __init__(
        self,
        connection: http.client.HTTPConnection,
        response: http.client.HTTPResponse,
        source: LimitedSocket,
    ) -> None:
        self.connection = connection
        self.response = response
        self.source = source
        self.status = response.status
        self.headers = Headers(dict(response.getheaders()))

    def read(self) -> bytes:
        return self.response.read()

    def pieces(self) -> Iterator[bytes]:
        while piece := self.response.read1(PIECE_BYTES):
            yield piece
        if self.response.length:
            raise http.client.IncompleteRead(b"", self.response.length)

    def close(self) -> None:
        self.response.close()
        self.connection.close()


class Connections:
    """A thread-safe pool of connections to one service."""

    def __init__(
        self, base_url: str, proxy: Optional[str], ssl_context: Optional[ssl.SSLContext]
    ) -> None:
        parts = urlsplit(base_url)
        self._is_secure = parts.scheme == "https"
        self._host = parts.hostname or ""
        self._port = parts.port or (443 if self._is_secure else 80)
        self._proxy = None if proxy is None else proxy_of(proxy)
        self._context = ssl_context
        if self._is_secure and ssl_context is None:
            self._context = ssl.create_default_context()
        self._idle: List[Tuple[http.client.HTTPConnection, float]] = []
        self._lock = threading.Lock()

    def exchange(self, request: Request, interrupt: Optional[Interrupt]) -> Answer:
        with Failures(interrupt):
            exchange = self._open(request, Deadline(request.timeout), interrupt)
            try:
                body = exchange.read()
            except BaseException:
                exchange.close()
                raise
            finally:
                if interrupt is not None:
                    interrupt.release()
            self._keep(exchange)
            return Answer(exchange.status, exchange.headers, body)

    def open(self, request: Request, silence: float, interrupt: Optional[Interrupt]) -> Exchange:
        """The response as a stream. The timeout of the request applies to its beginning."""
        with Failures(interrupt):
            exchange = self._open(request, Deadline(request.timeout), interrupt)
            exchange.source.limit = Silence(silence)
            return exchange

    def close(self) -> None:
        with self._lock:
            idle, self._idle = self._idle, []
        for connection, _ in idle:
            connection.close()

    def _open(
        self, request: Request, deadline: Deadline, interrupt: Optional[Interrupt]
    ) -> Exchange:
        connection = self._take() or self._make()
        sources: List[LimitedSocket] = []

        def respond(sock: Any, **options: Any) -> http.client.HTTPResponse:
            source = LimitedSocket(sock, deadline)
            sources.append(source)
            return http.client.HTTPResponse(source, **options)  # type: ignore[arg-type]

        connection.response_class = respond  # type: ignore[assignment]
        try:
            if connection.sock is None:
                connection.timeout = deadline.rest()
                connection.connect()
            sock: Any = connection.sock
            if interrupt is not None:
                interrupt.watch(sock)
            sock.settimeout(deadline.rest())
            self._send(connection, request)
            response = connection.getresponse()
            return Exchange(connection, response, sources[-1])
        except BaseException:
            connection.close()
            raise

    def _send(self, connection: http.client.HTTPConnection, request: Request) -> None:
        headers = dict(request.headers)
        target = request.url
        if self._proxy is None or self._is_secure:
            parts = urlsplit(request.url)
            target = f"{parts.path}?{parts.query}" if parts.query else parts.path
        else:
            headers.update(self._proxy.headers)
        if request.method in ("POST", "PUT", "PATCH"):
            headers["content-length"] = str(request.length)
        try:
            if request.body is None or isinstance(request.body, bytes):
                connection.request(request.method, target, request.body, headers)
            else:
                with open(request.body, "rb") as file:
                    connection.request(request.method, target, file, headers)
        except (BrokenPipeError, ConnectionResetError):
            # A refusal may arrive before the whole body was sent.
            if connection.sock is None:
                raise

    def _make(self) -> http.client.HTTPConnection:
        host, port = self._host, self._port
        if self._proxy is not None:
            host, port = self._proxy.host, self._proxy.port
        if not self._is_secure:
            return http.client.HTTPConnection(host, port)
        connection = http.client.HTTPSConnection(host, port, context=self._context)
        if self._proxy is not None:
            connection.set_tunnel(self._host, self._port, self._proxy.headers)
        return connection

    def _take(self) -> Optional[http.client.HTTPConnection]:
        while True:
            with self._lock:
                if not self._idle:
                    return None
                connection, since = self._idle.pop()
            if time.monotonic() - since < IDLE_SECONDS_MAX and is_quiet(connection.sock):
                return connection
            connection.close()

    def _keep(self, exchange: Exchange) -> None:
        exchange.response.close()
        if exchange.connection.sock is None:
            return
        with self._lock:
            if len(self._idle) < IDLE_CONNECTIONS_MAX:
                self._idle.append((exchange.connection, time.monotonic()))
                return
        exchange.connection.close()


def is_quiet(sock: Any) -> bool:
    """Whether the peer has neither closed the connection nor sent anything."""
    if sock is None:
        return False
    try:
        sock.settimeout(0)
        # Peeks at the socket itself, below TLS.
        socket.socket.recv(sock, 1, socket.MSG_PEEK)
    except (BlockingIOError, InterruptedError):
        return True
    except OSError:
        return False
    return False


class Failures:
    """Converts exceptions of sockets to exceptions of this package."""

    def __init__(self, interrupt: Optional[Interrupt]) -> None:
        self._interrupt = interrupt

    def __enter__(self) -> None:
        if self._interrupt is not None:
            self._interrupt.check()

    def __exit__(self, _kind: Any, error: Optional[BaseException], _trace: Any) -> None:
        if not isinstance(error, (OSError, http.client.HTTPException)):
            return
        if self._interrupt is not None:
            self._interrupt.check()
        if isinstance(error, TimeoutError):
            raise MailroomTimeoutError("The service did not respond in time.") from error
        message = f"The service could not be reached, or its response was cut off: {error!r}"
        raise MailroomConnectionError(message) from error


class Proxy:
    def __init__(self, host: str, port: int, headers: Dict[str, str]) -> None:
        self.host = host
        self.port = port
        self.headers = headers


def proxy_of(url: str) -> Proxy:
    parts = urlsplit(url)
    if parts.scheme != "http" or not parts.hostname:
        raise ValueError("proxy: it must be like http://user:password@proxy.example.com:3128.")
    headers: Dict[str, str] = {}
    if parts.username is not None:
        pair = f"{unquote(parts.username)}:{unquote(parts.password or '')}"
        headers["proxy-authorization"] = f"Basic {base64.b64encode(pair.encode()).decode()}"
    return Proxy(parts.hostname, parts.port or 80, headers)
