from __future__ import annotations

import json
import pickle
import time
from typing import Any

import mailroom
from mailroom import MailroomConnectionError, MailroomError, MailroomTimeoutError

from .clients import both
from .peer import HANG_UP, WAIT, Peer

MESSAGE = {"to": "ann@example.com", "subject": "A subject", "body": "A body."}
GATEWAY = {"status": 502, "headers": {"x-request-id": None}, "body": b"Bad gateway"}


def refused(status: int, **headers: str) -> Any:
    error = "rate_limit_exceeded" if status == 429 else "internal_error"
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return {"status": status, "headers": named, "body": {"error": error, "message": "No."}}


class Retries:
    def test_a_post_that_the_service_answered_is_repeated_with_the_same_body(self) -> None:
        for status in (429, 500, 503):
            with Peer(refused(status), {"status": 201, "body": {"id": "pod_1"}}) as peer:
                self.assertEqual(self.open(peer.base_url).pods.create(name="a"), {"id": "pod_1"})
                seen = [(one.method, one.url, one.body) for one in peer.requests]
                self.assertEqual(seen, [("POST", "/v1/pods", b'{"name":"a"}')] * 2)
                keys = {one.headers["idempotency-key"] for one in peer.requests}
                self.assertEqual(len(keys), 1)

    def test_a_failed_test_of_a_webhook_is_not_repeated(self) -> None:
        failed = {"status": 502, "body": {"error": "webhook_failed", "message": "No."}}
        with Peer(failed) as peer:
            with self.assertRaises(mailroom.WebhookFailedError):
                self.open(peer.base_url).webhooks.test("whk_1")
            self.assertEqual(len(peer.requests), 1)

    def test_a_post_that_a_gateway_answered_with_502_is_not_repeated_a_get_is(self) -> None:
        with Peer(GATEWAY, {}) as peer:
            client = self.open(peer.base_url)
            with self.assertRaises(MailroomError) as caught:
                client.pods.create()
            self.assertEqual(
                (caught.exception.status, caught.exception.code), (502, "service_unavailable")
            )
            self.assertEqual(len(peer.requests), 1)
        with Peer(GATEWAY, {}) as peer:
            self.open(peer.base_url).pods.get("a")
            self.assertEqual(len(peer.requests), 2)

    def test_get_patch_and_delete_are_repeated_after_a_broken_connection(self) -> None:
        calls = [
            lambda client: client.pods.get("a"),
            lambda client: client.pods.update("a"),
            lambda client: client.pods.delete("a"),
        ]
        for call in calls:
            with Peer(HANG_UP, {}) as peer:
                call(self.open(peer.base_url))
                self.assertEqual(len(peer.requests), 2)

    def test_a_post_whose_connection_broke_is_not_repeated(self) -> None:
        with Peer(HANG_UP, {}) as peer:
            with self.assertRaises(MailroomConnectionError) as caught:
                self.open(peer.base_url).pods.create()
            self.assertIsInstance(caught.exception.__cause__, Exception)
            self.assertEqual(len(peer.requests), 1)

    def test_a_send_is_repeated_under_its_key_whatever_broke(self) -> None:
        with Peer(HANG_UP, GATEWAY, refused(500), {"body": {"messageId": "msg_1"}}) as peer:
            sent = self.open(peer.base_url).inboxes.send("inb_1", **MESSAGE)
            self.assertEqual(sent["messageId"], "msg_1")
            keys = {one.headers["idempotency-key"] for one in peer.requests}
            self.assertEqual((len(peer.requests), len(keys)), (4, 1))
            self.assertEqual(
                {json.dumps(json.loads(one.body)) for one in peer.requests}.__len__(), 1
            )

    def test_each_send_has_its_own_key_unless_one_is_given(self) -> None:
        with Peer({}) as peer:
            client = self.open(peer.base_url)
            client.inboxes.send("inb_1", **MESSAGE)
            client.inboxes.send("inb_1", **MESSAGE)
            client.inboxes.send("inb_1", **MESSAGE, idempotency_key="mine")
            first, second, third = (one.headers["idempotency-key"] for one in peer.requests)
            self.assertNotEqual(first, second)
            self.assertEqual(third, "mine")

    def test_a_request_that_the_caller_got_wrong_says_what_was_wrong(self) -> None:
        body = {
            "error": "bad_request",
            "message": 'The field "name" must be a string.',
            "requestId": "req_9",
            "fix": "Correct it.",
            "details": [{"path": "name", "message": "must be a string"}, 5],
        }
        with Peer({"status": 400, "body": body}) as peer:
            with self.assertRaises(mailroom.BadRequestError) as caught:
                self.open(peer.base_url).pods.create()
            error = caught.exception
            self.assertEqual(
                (error.status, error.code, error.message, error.request_id, error.fix),
                (400, "bad_request", body["message"], "req_9", "Correct it."),
            )
            self.assertEqual(error.details, body["details"][:1])
            self.assertEqual((error.retry_after, error.body), (None, body))
            self.assertIn("name: must be a string", str(error))
            self.assertEqual(len(peer.requests), 1)
            again = pickle.loads(pickle.dumps(error))
            self.assertEqual((type(again), str(again)), (type(error), str(error)))

    def test_a_code_that_this_version_does_not_know_is_an_error_too(self) -> None:
        with Peer({"status": 409, "body": {"error": "of_tomorrow", "message": "No."}}) as peer:
            with self.assertRaises(MailroomError) as caught:
                self.open(peer.base_url).pods.get("a")
            self.assertEqual(
                (type(caught.exception), caught.exception.code), (MailroomError, "of_tomorrow")
            )

    def test_an_error_body_of_any_form_is_an_error(self) -> None:
        for body in (b"", b"[]", b"null", b"\xff", b'{"error":5,"details":{}}'):
            with Peer({"status": 404, "body": body}) as peer:
                with self.assertRaises(mailroom.NotFoundError):
                    self.open(peer.base_url).pods.get("a")

    def test_a_retry_waits_for_retry_after(self) -> None:
        with Peer(refused(429, retry_after="1"), {}) as peer:
            start = time.monotonic()
            self.open(peer.base_url).pods.get("a")
            self.assertGreaterEqual(time.monotonic() - start, 0.99)

    def test_a_retry_after_of_hours_is_passed_on(self) -> None:
        with Peer(refused(429, retry_after="7200")) as peer:
            with self.assertRaises(mailroom.RateLimitExceededError) as caught:
                self.open(peer.base_url).pods.get("a")
            self.assertEqual((caught.exception.retry_after, len(peer.requests)), (7200, 1))

    def test_after_the_last_retry_the_last_refusal_is_raised(self) -> None:
        with Peer(refused(500)) as peer:
            client = self.open(peer.base_url, max_retries=2)
            with self.assertRaises(mailroom.InternalError):
                client.pods.get("a")
            self.assertEqual(len(peer.requests), 3)
            with self.assertRaises(mailroom.InternalError):
                client.with_options(max_retries=0).pods.get("a")
            self.assertEqual(len(peer.requests), 4)

    def test_a_request_to_a_silent_service_ends_at_its_timeout(self) -> None:
        with Peer(WAIT) as peer:
            client = self.open(peer.base_url, max_retries=0, timeout=0.1)
            with self.assertRaisesRegex(MailroomTimeoutError, "in time"):
                client.pods.get("a")

    def test_where_nobody_listens_the_connection_is_the_error(self) -> None:
        with Peer({}) as peer:
            url = peer.base_url
        with self.assertRaises(MailroomConnectionError):
            self.open(url, max_retries=0).pods.get("a")


both(globals(), Retries)
