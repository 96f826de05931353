"""The far end of the client: a real HTTP server that answers by a script and keeps the requests."""

from __future__ import annotations

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Dict, List, NamedTuple, Union

HANG_UP = "hang up"
WAIT = "wait"
Step = Union[str, Dict[str, Any]]


class Seen(NamedTuple):
    method: str
    url: str
    headers: Dict[str, str]
    body: bytes


class Peer:
    """The last step is repeated for ever. A step is HANG_UP, WAIT, or what to answer."""

    def __init__(self, *steps: Step) -> None:
        self.steps = steps or ({},)
        self.requests: List[Seen] = []
        self.connections = 0
        self._over = threading.Event()
        peer = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def setup(self) -> None:
                peer.connections += 1
                super().setup()

            def handle_any(self) -> None:
                length = int(self.headers.get("content-length", 0))
                headers = {name.lower(): value for name, value in self.headers.items()}
                body = self.rfile.read(length)
                peer.requests.append(Seen(self.command, self.path, headers, body))
                step = peer.steps[min(len(peer.requests), len(peer.steps)) - 1]
                peer.answer(self, step)

            do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = handle_any

            def log_message(self, *_: Any) -> None:
                pass

        class Server(ThreadingHTTPServer):
            daemon_threads = True

            def handle_error(self, *_: Any) -> None:
                pass

        self._server = Server(("127.0.0.1", 0), Handler)
        self.base_url = f"http://127.0.0.1:{self._server.server_address[1]}"
        threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True).start()

    def answer(self, handler: BaseHTTPRequestHandler, step: Step) -> None:
        if step == WAIT:
            self._over.wait()
        if isinstance(step, str):
            handler.close_connection = True
            return
        body = step.get("body", {})
        octets = body if isinstance(body, bytes) else json.dumps(body).encode()
        if step.get("status") == 204:
            octets = b""
        handler.send_response(step.get("status", 200))
        for name, value in {"x-request-id": "req_1", **step.get("headers", {})}.items():
            if value is not None:
                handler.send_header(name, value)
        handler.send_header("content-length", str(len(octets)))
        handler.end_headers()
        handler.wfile.write(octets)

    def __enter__(self) -> Peer:
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._server.shutdown()
        self._server.server_close()
