"""TLS and proxies, with real ones."""

from __future__ import annotations

import base64
import shutil
import socket
import ssl
import subprocess
import tempfile
import threading
import unittest
from pathlib import Path
from typing import Any, List

from mailroom import MailroomConnectionError

from .clients import both, time_out
from .peer import Peer


class Proxy:
    """Passes on what comes for one host, by CONNECT or with a whole URL, if the password is right."""

    def __init__(self, target: int) -> None:
        self._target = target
        self.heads: List[str] = []
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://ann:p%40ss@127.0.0.1:{self._listener.getsockname()[1]}"
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self) -> None:
        while True:
            try:
                sock, _ = self._listener.accept()
            except OSError:
                return
            threading.Thread(target=self._pass_on, args=(sock,), daemon=True).start()

    def _pass_on(self, sock: socket.socket) -> None:
        head = b""
        while b"\r\n\r\n" not in head:
            head += sock.recv(65536)
        self.heads.append(head.decode())
        if base64.b64encode(b"ann:p@ss") not in head:
            sock.sendall(b"HTTP/1.1 407 Proxy Authentication Required\r\ncontent-length: 0\r\n\r\n")
            return
        other = socket.create_connection(("127.0.0.1", self._target))
        if head.startswith(b"CONNECT"):
            sock.sendall(b"HTTP/1.1 200 OK\r\n\r\n")
        else:
            other.sendall(head)
        threading.Thread(target=self._pump, args=(other, sock), daemon=True).start()
        self._pump(sock, other)

    def _pump(self, one: socket.socket, other: socket.socket) -> None:
        try:
            while octets := one.recv(65536):
                other.sendall(octets)
        except OSError:
            pass
        for sock in (one, other):
            sock.close()

    def __enter__(self) -> Proxy:
        return self

    def __exit__(self, *_: object) -> None:
        self._listener.close()


class TlsPeer(Peer):
    def __init__(self, folder: str) -> None:
        super().__init__({"body": {"id": "pod_1"}})
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(Path(folder, "cert.pem"), Path(folder, "key.pem"))
        self.trusted = ssl.create_default_context(cafile=str(Path(folder, "cert.pem")))
        # Before the first connection.
        self._server.socket = context.wrap_socket(self._server.socket, server_side=True)
        self.base_url = self.base_url.replace("http://127.0.0.1", "https://localhost")


@unittest.skipUnless(shutil.which("openssl"), "openssl is missing: TLS is NOT TESTED")
class Tls:
    folder = ""

    @classmethod
    def setUpClass(cls) -> None:
        cls.folder = tempfile.mkdtemp()
        command = "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=localhost"
        files = ["-keyout", f"{cls.folder}/key.pem", "-out", f"{cls.folder}/cert.pem"]
        names = ["-addext", "subjectAltName=DNS:localhost"]
        subprocess.run(
            ["openssl", *command.split(), *names, *files], check=True, capture_output=True
        )

    @classmethod
    def tearDownClass(cls) -> None:
        shutil.rmtree(cls.folder)

    @time_out(30)
    def test_a_certificate_is_verified(self) -> None:
        with TlsPeer(self.folder) as peer:
            client = self.open(peer.base_url, ssl_context=peer.trusted)
            self.assertEqual([client.pods.get("a")["id"] for _ in range(3)], ["pod_1"] * 3)
            with self.assertRaisesRegex(MailroomConnectionError, "(?i)certificate"):
                self.open(peer.base_url, max_retries=0).pods.get("a")
            self.assertEqual(len(peer.requests), 3)

    @time_out(30)
    def test_a_proxy_passes_tls_on(self) -> None:
        with TlsPeer(self.folder) as peer:
            port = int(peer.base_url.rsplit(":", 1)[1])
            with Proxy(port) as proxy:
                given: Any = {"ssl_context": peer.trusted, "proxy": proxy.url}
                client = self.open(peer.base_url, **given)
                self.assertEqual([client.pods.get("a")["id"] for _ in range(3)], ["pod_1"] * 3)
                self.assertEqual(
                    [head.split(" HTTP/")[0] for head in proxy.heads],
                    [f"CONNECT localhost:{port}"],
                )
                self.assertNotIn("mr_key", proxy.heads[0])


both(globals(), Tls)


class Proxied:
    @time_out(30)
    def test_a_proxy_gets_the_whole_url(self) -> None:
        with Peer({"body": {"id": "pod_1"}}) as peer:
            with Proxy(int(peer.base_url.rsplit(":", 1)[1])) as proxy:
                url = peer.base_url.replace("127.0.0.1", "mail.example")
                client = self.open(url, proxy=proxy.url)
                self.assertEqual(client.pods.get("a")["id"], "pod_1")
                self.assertIn(f"GET {url}/v1/pods/a HTTP/1.1", proxy.heads[0])

    @time_out(30)
    def test_variables_of_the_environment_are_not_read(self) -> None:
        import os
        from unittest import mock

        names = ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY")
        with mock.patch.dict(os.environ, {name: "http://127.0.0.1:9" for name in names}):
            with Peer({"body": {"id": "pod_1"}}) as peer:
                self.assertEqual(self.open(peer.base_url).pods.get("a")["id"], "pod_1")


both(globals(), Proxied)
