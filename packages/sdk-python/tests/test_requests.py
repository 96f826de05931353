from __future__ import annotations

import importlib
import inspect
import json
import tempfile
from pathlib import Path
from typing import Any, get_type_hints

from mailroom import NOT_GIVEN, MailroomConnectionError, reply_recipient
from mailroom._operations import OPERATIONS

from .clients import HAS_HTTPX, both
from .peer import HANG_UP, Peer

MESSAGE = {"to": "ann@example.com", "subject": "A subject", "body": "A body."}


def snake(name: str) -> str:
    return "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in name)


def method_of(client: Any, id: str) -> Any:
    found = client
    for name in id.split("."):
        found = getattr(found, snake(name))
    return found


def given_for(method: Any, path: str) -> Any:
    """An argument for each that is required."""
    required = [
        one for one in inspect.signature(method).parameters.values() if one.default is one.empty
    ]
    names = [segment[1:-1] for segment in path.split("/") if segment.startswith("{")]
    args = [f"{name} /?#" for name in names]
    more = [one for one in required if one.kind == one.POSITIONAL_OR_KEYWORD][len(args) :]
    args += [b'{"name":"a"}' for _ in more]
    values = {"items": [], "is_read": True, "timeout": 1, "lease_seconds": 60}
    kwargs = {
        one.name: values.get(one.name, "a") for one in required if one.kind == one.KEYWORD_ONLY
    }
    return args, kwargs


class Requests:
    def test_every_operation_is_a_method_that_requests_it(self) -> None:
        with Peer({"body": {"data": [], "total": 0}}) as peer:
            client = self.open(f"{peer.base_url}/")
            inner = getattr(client, "_inner", client)
            for id, operation in OPERATIONS.items():
                with self.subTest(id):
                    args, kwargs = given_for(method_of(inner, id), operation.path)
                    result = method_of(client, id)(*args, **kwargs)
                    if hasattr(result, "page"):
                        result.page()
                    if hasattr(result, "close"):
                        result.close()
                    request = peer.requests.pop()
                    self.assertEqual(peer.requests, [])
                    path = "/".join(
                        f"{segment[1:-1]}%20%2F%3F%23" if segment.startswith("{") else segment
                        for segment in operation.path.split("/")
                    )
                    self.assertEqual(request.method, operation.method)
                    self.assertEqual(request.url.split("?")[0], path)
                    self.assertEqual(request.headers["authorization"], "Bearer mr_key")
                    has_key = "idempotency-key" in request.headers
                    self.assertEqual(has_key, operation.method == "POST")

    def test_every_method_has_types_that_can_be_looked_up(self) -> None:
        from mailroom import _sync_methods, types

        modules = [_sync_methods]
        if HAS_HTTPX:
            modules.append(importlib.import_module("mailroom._async_methods"))

        for name in types.__all__:
            if isinstance(getattr(types, name), type):
                self.assertGreater(len(get_type_hints(getattr(types, name))), 0, name)
        count = 0
        for module in modules:
            for space in vars(module).values():
                if isinstance(space, type) and space.__module__ == module.__name__:
                    for method in vars(space).values():
                        if inspect.isfunction(method):
                            get_type_hints(method)
                            count += 1
        self.assertGreater(count, len(OPERATIONS))

    def test_query_parameters_have_the_names_of_the_api(self) -> None:
        with Peer({"body": {"data": [], "total": 0}}) as peer:
            client = self.open(peer.base_url)
            client.inboxes.list(pod_id="tenant 1", metadata={"a.b": "ü"}, limit=5).page()
            client.threads.list("inb_1", is_read=False, offset=3).page()
            client.threads.messages("thr_1", limit=2)
            client.sandbox.receive_raw(b"x", from_="a@b.example", to=["c@d.example", "e@f.example"])
            self.assertEqual(
                [request.url for request in peer.requests],
                [
                    "/v1/inboxes?podId=tenant+1&metadata.a.b=%C3%BC&limit=5",
                    "/v1/inboxes/inb_1/threads?is_read=false&offset=3",
                    "/v1/threads/thr_1/messages?limit=2",
                    "/v1/sandbox/inbound?from=a%40b.example&to=c%40d.example&to=e%40f.example",
                ],
            )
            self.assertEqual(peer.requests[3].headers["content-type"], "message/rfc822")
            self.assertEqual(peer.requests[3].body, b"x")

    def test_none_clears_a_field_of_a_patch_and_is_left_out_of_a_post(self) -> None:
        with Peer({}) as peer:
            client = self.open(peer.base_url)
            client.pods.update("pod_1", name=None)
            client.pods.update("pod_1", name=NOT_GIVEN, client_id="b")
            client.pods.create(name=None, client_id="b")
            client.threads.update("thr_1", is_read=True, add_labels=["a"])
            bodies = [json.loads(request.body) for request in peer.requests]
            labels = {"isRead": True, "addLabels": ["a"]}
            self.assertEqual(bodies, [{"name": None}, {"clientId": "b"}, {"clientId": "b"}, labels])

    def test_a_value_that_cannot_stand_in_a_path_is_refused_before_the_request(self) -> None:
        with Peer({}) as peer:
            client = self.open(peer.base_url)
            for id in ("", ".", ".."):
                with self.assertRaises(ValueError):
                    client.pods.delete(id)
            self.assertEqual(peer.requests, [])

    def test_a_value_that_cannot_stand_in_a_header_is_refused_before_the_request(self) -> None:
        with Peer({}) as peer:
            client = self.open(peer.base_url)
            for key in ("a\r\nx: y", "ä", "a\0"):
                with self.assertRaises(ValueError):
                    client.inboxes.send("inb_1", **MESSAGE, idempotency_key=key)
            self.assertEqual(peer.requests, [])

    def test_a_wrong_proxy_is_refused_at_once(self) -> None:
        if not self.is_async:
            with self.assertRaises(ValueError):
                self.open("http://a.example", proxy="socks5://a.example")

    def test_files_and_texts_arrive_as_they_are(self) -> None:
        headers = {"content-type": "message/rfc822", "x-view-total-chars": "7"}
        with Peer({"headers": headers, "body": "grüß €".encode()}) as peer:
            client = self.open(peer.base_url)
            file = client.messages.raw("msg_1")
            self.assertEqual(
                (file.content, file.content_type), ("grüß €".encode(), "message/rfc822")
            )
            self.assertEqual(client.messages.html("msg_1"), "grüß €")
            view = client.messages.view("msg_1", max_chars=500)
            self.assertEqual((view.text, view.total_chars, view.next_offset), ("grüß €", 7, None))

    def test_files_to_send_may_be_octets_or_base64(self) -> None:
        octets = bytes(index * 31 % 256 for index in range(100_001))
        with Peer({}) as peer:
            client = self.open(peer.base_url)
            kept = {"filename": "a.bin", "contentType": "image/png"}
            files = [{**kept, "data": octets}, {**kept, "data": b""}, {**kept, "data": "aGk="}]
            client.inboxes.send("inb_1", **MESSAGE, attachments=files)
            client.drafts.add_attachment("dft_1", filename="a", content_type="b/c", data=b"hi")
            sent = json.loads(peer.requests[0].body)["attachments"]
            import base64

            self.assertEqual([base64.b64decode(one["data"]) for one in sent], [octets, b"", b"hi"])
            self.assertEqual(json.loads(peer.requests[1].body)["data"], "aGk=")

    def test_a_file_is_uploaded_from_its_path_and_again_after_a_broken_connection(self) -> None:
        with tempfile.TemporaryDirectory() as folder, Peer(HANG_UP, {}) as peer:
            path = Path(folder, "mail.mbox")
            path.write_bytes(b"From x\n" * 50_000)
            client = self.open(peer.base_url)
            client.imports.create("inb_1", path, is_read=True, content_type="application/mbox")
            self.assertEqual(len(peer.requests), 2)
            for request in peer.requests:
                self.assertEqual(request.body, path.read_bytes())
                self.assertEqual(request.headers["content-type"], "application/mbox")
                self.assertEqual(request.url, "/v1/inboxes/inb_1/imports?isRead=true")
            with self.assertRaises(FileNotFoundError):
                client.imports.create("inb_1", Path(folder, "none"))

    def test_each_item_of_a_batch_has_a_key_that_is_kept(self) -> None:
        with Peer(HANG_UP, {}) as peer:
            client = self.open(peer.base_url)
            items = [{"body": "a"}, {"body": "b", "idempotencyKey": "mine"}]
            client.inboxes.send_batch("inb_1", items=items)
            first, second = (json.loads(request.body)["items"] for request in peer.requests)
            self.assertEqual(first, second)
            self.assertEqual(first[1]["idempotencyKey"], "mine")
            self.assertRegex(first[0]["idempotencyKey"], "^[0-9a-f-]{36}$")

    def test_a_lease_token_goes_with_every_request(self) -> None:
        with Peer({}) as peer:
            client = self.open(peer.base_url).with_lease("mrl_1")
            client.threads.get("thr_1")
            client.with_options(lease_token=None).threads.get("thr_1")
            tokens = [request.headers.get("lease-token") for request in peer.requests]
            self.assertEqual(tokens, ["mrl_1", None])

    def test_a_reply_goes_where_the_sender_wants_it(self) -> None:
        inbound = {"threadId": "thr_1", "fromAddr": "Ann <ann@x.example>", "direction": "inbound"}
        cases = [
            ({}, {}, "ann@x.example"),
            ({"fromAddr": '"Bob <bob@x.example>" <ann@x.example>'}, {}, "ann@x.example"),
            ({"replyTo": "list@x.example, bob@x.example"}, {}, "list@x.example"),
            ({"replyTo": '"a, b"@x.example, c@x.example'}, {}, '"a, b"@x.example'),
            ({"replyTo": '"a\\", b"@x.example'}, {}, '"a\\", b"@x.example'),
            ({"deliveryRole": "cc", "headerTo": "bob@x.example, e@x.example"}, {}, "bob@x.example"),
            ({"deliveryRole": "to", "headerTo": "inbox@x.example"}, {}, "ann@x.example"),
            ({"toAddr": "in@x.example", "replyTo": "In+back@x.example"}, {}, "ann@x.example"),
            ({"recipient": "s@x.example", "replyTo": "s@x.example, b@x.example"}, {}, "b@x.example"),
            ({"direction": "outbound", "toAddr": "bob@x.example"}, {}, "bob@x.example"),
            ({}, {"to": "eve@x.example"}, "eve@x.example"),
            ({}, {"reply_all": True}, None),
        ]
        with Peer({}) as peer:
            client = self.open(peer.base_url)
            for message, given, to in cases:
                client.inboxes.reply("inb_1", {**inbound, **message}, body="Yes.", **given)
                sent = json.loads(peer.requests[-1].body)
                self.assertEqual(peer.requests[-1].url, "/v1/inboxes/inb_1/send")
                self.assertEqual((sent["threadId"], sent.get("to")), ("thr_1", to))
        self.assertEqual(reply_recipient(inbound), "ann@x.example")

    def test_the_message_of_a_reply_may_be_given_by_its_id(self) -> None:
        message = {"threadId": "thr_1", "fromAddr": "ann@x.example", "direction": "inbound"}
        with Peer({"body": message}, {}) as peer:
            self.open(peer.base_url).inboxes.reply("inb_1", "msg_1", body="Yes.")
            urls = [request.url for request in peer.requests]
            self.assertEqual(urls, ["/v1/messages/msg_1", "/v1/inboxes/inb_1/send"])
            self.assertEqual(json.loads(peer.requests[1].body)["to"], "ann@x.example")

    def test_a_reply_in_a_thread_answers_its_newest_received_message(self) -> None:
        def message(direction: str, name: str) -> Any:
            address = "toAddr" if direction == "outbound" else "fromAddr"
            return {"threadId": "thr_1", "direction": direction, address: f"{name}@x.example"}

        received, sent = message("inbound", "ann"), message("outbound", "bob")
        thread = {"body": {"id": "thr_1", "inboxId": "inb_1", "messageCount": 250}}
        cases = [([sent, message("inbound", "eve"), received, sent], "ann"), ([sent], "bob")]
        for messages, name in cases:
            with Peer(thread, {"body": {"data": messages}}, {}) as peer:
                client = self.open(peer.base_url)
                client.threads.reply("thr_1", body="Yes.", idempotency_key="once")
                urls = [request.url for request in peer.requests]
                newest = "/v1/threads/thr_1/messages?limit=100&offset=150"
                self.assertEqual(urls, ["/v1/threads/thr_1", newest, "/v1/inboxes/inb_1/send"])
                body = {"body": "Yes.", "threadId": "thr_1", "to": f"{name}@x.example"}
                self.assertEqual(json.loads(peer.requests[-1].body), body)
                self.assertEqual(peer.requests[-1].headers["idempotency-key"], "once")

    def test_an_answer_that_is_no_json_is_an_error(self) -> None:
        with Peer({"body": b"<html>"}) as peer:
            with self.assertRaises(MailroomConnectionError):
                self.open(peer.base_url).pods.get("a")

    def test_a_connection_is_used_again(self) -> None:
        with Peer({}) as peer:
            client = self.open(peer.base_url)
            for _ in range(5):
                client.pods.get("a")
            self.assertEqual(peer.connections, 1)


both(globals(), Requests)
