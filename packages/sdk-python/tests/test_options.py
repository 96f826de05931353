"""What a client is made with: its service, its key, its hooks."""

from __future__ import annotations

import os
from typing import Any, Dict, List
from unittest import mock

import mailroom
from mailroom import Mailroom

from .clients import ClientTest, both
from .peer import HANG_UP, Peer

URL = "MAILROOM_BASE_URL"
KEY = "MAILROOM_API_KEY"


class Options(ClientTest):
    def made(self, environment: Dict[str, str], *values: Any, **options: Any) -> Any:
        kind = mailroom.AsyncMailroom if self.is_async else Mailroom
        with mock.patch.dict(os.environ):
            for name in (URL, KEY):
                os.environ.pop(name, None)
            os.environ.update(environment)
            return kind(*values, **options)

    def refusal(self, environment: Dict[str, str], *values: Any, **options: Any) -> str:
        with self.assertRaises(ValueError) as caught:
            self.made(environment, *values, **options)
        return str(caught.exception)

    def test_the_environment_has_the_url_and_the_key(self) -> None:
        with Peer({"body": {"id": "pod_1"}}) as peer:
            client = self.open(None, api_key=None, environment={URL: peer.base_url, KEY: "mr_set"})
            client.pods.get("pod_1")
            client = self.open(peer.base_url, environment={URL: "http://other.example", KEY: "x"})
            client.pods.get("pod_1")
        found = [seen.headers["authorization"] for seen in peer.requests]
        self.assertEqual(found, ["Bearer mr_set", "Bearer mr_key"])

    def test_what_is_missing_is_named(self) -> None:
        self.assertIn("missing: pass base_url, such as http", self.refusal({KEY: "mr_1"}))
        self.assertIn(URL, self.refusal({KEY: "mr_1", URL: ""}))
        self.assertIn(f"variable {KEY}", self.refusal({URL: "http://a.example"}))
        # An empty argument is a mistake of the caller, not a wish for the environment's value.
        both_set = {URL: "http://a.example", KEY: "mr_1"}
        self.assertIn("pass api_key", self.refusal(both_set, api_key=""))
        self.assertIn("pass base_url", self.refusal(both_set, ""))

    def test_what_is_wrong_is_named_and_not_repeated(self) -> None:
        for url in ("localhost:8080", "mr_secret", "ftp://a.example", "http://:80", "http://a.example/?x"):
            refusal = self.refusal({}, url, "mr_1")
            self.assertIn("base_url must be a complete URL", refusal)
            self.assertNotIn(url, refusal)
        for url in ("http://a.example:x", "http://a.example:99999", "http://a b.example", "http://a\n"):
            self.assertIn(f"{URL} must be", self.refusal({URL: url}, api_key="mr_1"))
        for url in ("https://a.example/v1", "https://a.example/v1/"):
            self.assertIn("must not end in /v1", self.refusal({}, url, "mr_1"))
        for key in ("Bearer mr_secret", "mr_secret\n", "mr_sécret"):
            refusal = self.refusal({}, "http://a.example", key)
            self.assertIn("api_key has a space, a line break", refusal)
            self.assertNotIn("secret", refusal)

    def test_hooks_see_every_attempt(self) -> None:
        seen: List[Any] = []
        refusal = {"status": 503, "headers": {"x-request-id": "req_1"}, "body": {}}
        answer = {"headers": {"x-request-id": "req_2", "RateLimit-Remaining": "7"}}
        with Peer(HANG_UP, refusal, {**answer, "body": {"id": "pod_1"}}) as peer:
            hooks = {"on_request": seen.append, "on_response": seen.append}
            self.open(peer.base_url, **hooks).pods.get("pod_1")
        kinds = ["SentRequest", "SentRequest", "Response", "SentRequest", "Response"]
        self.assertEqual([type(one).__name__ for one in seen], kinds)
        request, response = seen[-2:]
        self.assertEqual((request.operation, request.method, request.attempt), ("pods.get", "GET", 3))
        self.assertEqual(request.url, f"{peer.base_url}/v1/pods/pod_1")
        self.assertEqual([one.status for one in seen if hasattr(one, "status")], [503, 200])
        self.assertIs(response.request, request)
        self.assertEqual(response.request_id, "req_2")
        self.assertEqual(response.headers["ratelimit-remaining"], "7")
        self.assertEqual(response.headers["RateLimit-Remaining"], "7")
        self.assertGreater(response.seconds, 0)

    def test_a_call_can_be_made_with_its_response(self) -> None:
        seen: List[Any] = []
        with Peer({"headers": {"x-request-id": "req_2"}, "body": {"id": "pod_1"}}) as peer:
            client = self.open(peer.base_url, on_response=seen.append)
            pod, response = client.with_response(lambda mail: mail.pods.get("pod_1"))
            self.assertEqual((pod.id, response.status, response.request_id), ("pod_1", 200, "req_2"))
            self.assertEqual(seen, [response])
            client.pods.get("pod_1")
            self.assertEqual(len(seen), 2)

    def test_the_log_has_attempts_without_secrets(self) -> None:
        with Peer(HANG_UP, {"body": {"id": "pod_1"}}) as peer:
            with self.assertLogs("mailroom", "DEBUG") as logs:
                self.open(peer.base_url, api_key="mr_secret").pods.get("pod_secret")
        text = "\n".join(logs.output)
        self.assertRegex(text, r"pods.get: no response to attempt 1\n.*pods.get: 200 after 0\.")
        self.assertNotIn("secret", text)


both(globals(), Options)
del Options
