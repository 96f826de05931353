"""A real service, as its operator starts it, with data of its own."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import tempfile
import threading
from pathlib import Path
from typing import Dict, List, Optional

ROOT = Path(__file__).parents[3]
KEY = "python_client_test_key_0123456789"
OPERATOR_TOKEN = "python_client_operator_0123456789"


class Service:
    def __init__(self) -> None:
        self._folder = tempfile.mkdtemp(prefix="mailroom-python-")
        self._process: Optional[subprocess.Popen] = None
        self.port = 0
        self.output: List[str] = []

    def start(self) -> None:
        env: Dict[str, str] = {
            "PATH": os.environ.get("PATH", ""),
            "MAILROOM_DATA_DIR": self._folder,
            "MAILROOM_HTTP_PORT": str(self.port),
            "MAILROOM_SMTP_PORT": "0",
            "MAILROOM_BOOTSTRAP_API_KEY": KEY,
            "MAILROOM_ADMIN_TOKEN": OPERATOR_TOKEN,
            "MAILROOM_ALLOW_PRIVATE_EGRESS": "true",
            "MAILROOM_DNS_SERVERS": "127.0.0.1:9",
        }
        main = ROOT / "packages/server/src/main.mjs"
        self._process = subprocess.Popen(
            [str(ROOT / "node_modules/.bin/node"), str(main), "serve"],
            env=env,
            cwd=self._folder,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self.output.append(line)
            if '"Mailroom is ready"' in line:
                http: str = json.loads(line)["http"]
                self.port = int(http.rsplit(":", 1)[1])
                break
        else:
            raise AssertionError("The service ended:\n" + "".join(self.output))
        # A full pipe would stop it.
        self._reader = threading.Thread(target=self.output.extend, args=(self._process.stdout,))
        self._reader.start()

    @property
    def base_url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def kill(self) -> None:
        if self._process is None:
            return
        self._process.send_signal(signal.SIGKILL)
        self._process.wait()
        self._reader.join()
        assert self._process.stdout is not None
        self._process.stdout.close()
        self._process = None

    def remove(self) -> None:
        self.kill()
        shutil.rmtree(self._folder, ignore_errors=True)
