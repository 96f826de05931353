from __future__ import annotations

import base64
import hashlib
import hmac
import json
import time
import unittest
from email.message import Message
from pathlib import Path

from mailroom import WebhookVerificationError, verify_webhook

VECTORS = Path(__file__).parents[2] / "sdk/test/webhook-vectors.json"


class Webhooks(unittest.TestCase):
    def test_the_recorded_requests_are_judged_as_recorded(self) -> None:
        vectors = json.loads(VECTORS.read_text("utf-8"))
        self.assertGreater(len(vectors), 70)
        for vector in vectors:
            with self.subTest(vector["name"]):
                for body in (vector["body"], vector["body"].encode()):
                    try:
                        event = verify_webhook(
                            body,
                            vector["headers"],
                            vector["secrets"],
                            now=vector["now"],
                            tolerance=vector.get("toleranceSeconds", 300),
                        )
                        outcome = "event" if event["event_id"] == "evt_1" else "another"
                    except WebhookVerificationError as error:
                        outcome = error.code
                    self.assertEqual(outcome, vector["outcome"])

    def test_headers_may_be_lists_or_those_of_a_server_and_one_secret_a_text(self) -> None:
        vector = json.loads(VECTORS.read_text("utf-8"))[0]
        lists = {name: [value] for name, value in vector["headers"].items()}
        of_server = Message()
        for name, value in vector["headers"].items():
            of_server[name] = value
        [secret] = vector["secrets"]
        for headers in (lists, of_server):
            event = verify_webhook(vector["body"], headers, secret, now=vector["now"])
            self.assertEqual(event["message"]["subject"], "Grüße 日本 🎉")

    def test_whatever_arrives_nothing_but_its_own_error_is_raised(self) -> None:
        vector = json.loads(VECTORS.read_text("utf-8"))[0]
        good = vector["headers"]
        odd = [None, "", 0, b"", b"\xff", [], [[]], [None], {}, "\udcff", "\ud800", object(), 1.5]
        odd += [memoryview(b"x"), "f" * 5_000_000]
        cases = [(vector["body"], {**good, name: value}, None) for name in good for value in odd]
        cases += [(vector["body"], value, None) for value in odd]
        cases += [(value, good, None) for value in odd]
        cases += [(vector["body"], good, [value]) for value in odd]
        cases += [("[" * 200_000, good, None)]
        for body, headers, secrets in cases:
            with self.assertRaises(WebhookVerificationError):
                secret = secrets[0] if secrets else vector["secrets"]
                verify_webhook(body, headers, secret, now=vector["now"])

    def test_a_signed_body_that_is_no_json_is_its_own_error(self) -> None:
        secret = "whsec_" + base64.b64encode(b"k" * 32).decode()
        for body in (b"[" * 200_000, b"\xff", b"", b"{"):
            made = hmac.new(b"k" * 32, b"evt_1.1800000000." + body, hashlib.sha256).digest()
            headers = {
                b"webhook-id": b"evt_1",
                b"webhook-timestamp": b"1800000000",
                b"webhook-signature": b"v1," + base64.b64encode(made),
            }
            with self.assertRaises(WebhookVerificationError) as caught:
                verify_webhook(body, headers, secret, now=1_800_000_000)
            self.assertEqual(caught.exception.code, "not_json")

    def test_the_present_is_the_clock_unless_given(self) -> None:
        vector = json.loads(VECTORS.read_text("utf-8"))[0]
        with self.assertRaises(WebhookVerificationError) as caught:
            verify_webhook(vector["body"], vector["headers"], vector["secrets"])
        self.assertEqual(caught.exception.code, "too_old")
        far = abs(time.time() - vector["now"]) + 60
        verify_webhook(vector["body"], vector["headers"], vector["secrets"], tolerance=far)
