"""Both clients against a real service."""

from __future__ import annotations

import contextlib
import inspect
import io
import json
import os
import re
import subprocess
import sys
import tempfile
import threading
import time
import unittest
from pathlib import Path
from typing import Any, Dict, List
from unittest import mock

import mailroom
from mailroom._operations import OPERATIONS

from .clients import both, time_out
from .service import KEY, OPERATOR_TOKEN, ROOT, Service
from .test_requests import method_of

service = Service()
LEASE_SECONDS = 10


def setUpModule() -> None:
    service.start()


def tearDownModule() -> None:
    service.remove()


class Served:
    def client(self, **options: Any) -> Any:
        return self.open(service.base_url, api_key=KEY, **options)

    def receive(self, client: Any, inbox: Any, subject: str, text: str, **fields: Any) -> None:
        given = {"from_": "Ann <ann@firm.example>", "to": inbox["address"], **fields}
        client.sandbox.receive(subject=subject, text=text, **given)

    @time_out(60)
    def test_the_client_has_every_operation_that_the_service_describes(self) -> None:
        client = self.client()
        described = json.loads(client.service.openapi())
        found: Dict[str, Any] = {}
        for path, methods in described["paths"].items():
            for method, operation in methods.items():
                if "x-for-other-clients" not in operation:
                    found[operation["operationId"]] = (method.upper(), path, operation)
        # Frames are no requests; `events.follow` reads the same events as a stream.
        del found["events.webSocket"]
        self.assertEqual(
            {id: (method, path) for id, (method, path, _) in found.items()},
            {id: (one.method, one.path) for id, one in OPERATIONS.items()},
        )
        for id, (method, path, operation) in found.items():
            signature = inspect.signature(method_of(getattr(client, "_inner", client), id))
            names = {name.replace("_", "").lower() for name in signature.parameters}
            for parameter in operation.get("parameters", []):
                if "$ref" in parameter:
                    name = parameter["$ref"].rsplit("/", 1)[1]
                    parameter = described["components"]["parameters"][name]
                if parameter["in"] == "query" and id != "sandbox.receive":
                    wanted = parameter["name"].replace("_", "").lower()
                    self.assertIn(wanted, names, f"{id}: {parameter['name']}")

    @time_out(60)
    def test_an_agent_waits_reads_and_replies(self) -> None:
        client = self.client()
        inbox = client.inboxes.create(display_name="An agent")
        arriving = threading.Timer(
            0.5, self.receive, (client, inbox, "Sign in", "Your code is 482913.\n\nAnn")
        )
        arriving.start()
        message = client.inboxes.wait_for_message(inbox["id"], timeout=30, subject="sign")
        arriving.join()
        self.assertIn("Your code is", message["extractedText"])
        self.assertEqual(message["extracted"]["codes"][0]["value"], "482913")
        files = [{"filename": "a.bin", "contentType": "application/x-bin", "data": b"\0\1\2"}]
        once = {
            "body": "Thank you.",
            "attachments": files,
            "idempotency_key": f"re-{message['id']}",
        }
        sent = client.inboxes.reply(inbox["id"], message, **once)
        again = client.inboxes.reply(inbox["id"], message, **once)
        self.assertEqual(
            (sent["messageId"], sent["threadId"]), (again["messageId"], message["threadId"])
        )
        done = client.inboxes.wait_for_message(
            inbox["id"], direction="outbound", after=message["id"], timeout=30
        )
        self.assertEqual((done["id"], done["toAddr"]), (sent["messageId"], "ann@firm.example"))
        file = client.attachments.get(done["id"], "a.bin")
        self.assertEqual((file.content, file.content_type), (b"\0\1\2", "application/x-bin"))
        self.assertIn("482913", client.threads.view(message["threadId"]).text)
        self.assertIn(b"482913", client.messages.raw(message["id"]).content)
        [thread] = client.threads.list(inbox["id"], is_read=True)
        self.assertEqual(thread["id"], message["threadId"])
        # The newest message is the reply, but the newest received one is answered.
        more = client.threads.reply(message.thread_id, body="One more thing.")
        self.assertEqual((more.thread_id, more.is_held), (message.thread_id, False))
        self.assertEqual(client.messages.get(more.id).to_addr, "ann@firm.example")

    @time_out(60)
    def test_what_the_service_refuses_is_an_exception_of_its_code(self) -> None:
        client = self.client()
        with self.assertRaises(mailroom.NotFoundError) as caught:
            client.inboxes.get("inb_none")
        self.assertEqual(caught.exception.status, 404)
        self.assertRegex(caught.exception.request_id, ".")
        inbox = client.inboxes.create()
        with self.assertRaises(mailroom.BadRequestError) as caught:
            client.inboxes.send(inbox["id"], body="x", to="nobody", subject="x")
        self.assertEqual(caught.exception.details[0]["path"], "to")
        with self.assertRaises(mailroom.UnauthorizedError):
            self.open(service.base_url, api_key="mr_wrong").account.get()
        with self.assertRaises(mailroom.IdempotencyKeyReusedError):
            for body in ("a", "b"):
                given = {"to": "ann@firm.example", "subject": "x", "idempotency_key": "the same"}
                client.inboxes.send(inbox["id"], body=body, **given)

    @time_out(60)
    def test_lists_are_read_to_their_end(self) -> None:
        client = self.client()
        inbox = client.inboxes.create(metadata={"test": "lists"})
        for index in range(5):
            self.receive(client, inbox, f"Number {index}", "x")
        subjects = [one["subject"] for one in client.messages.list(inbox["id"], limit=2)]
        self.assertEqual(subjects, [f"Number {index}" for index in range(4, -1, -1)])
        page = client.messages.search(q="number", inbox_id=inbox["id"], limit=2).page()
        self.assertEqual((len(page.data), page.total, page.total_is_exact), (2, 5, True))
        self.assertEqual(
            len(list(client.messages.search(q="number", inbox_id=inbox["id"], limit=2))), 5
        )
        [found] = client.inboxes.list(metadata={"test": "lists"}).page().data[:1]
        self.assertEqual(found["metadata"], {"test": "lists"})

    @time_out(60)
    def test_drafts_batches_and_large_files_are_sent(self) -> None:
        client = self.client()
        inbox = client.inboxes.create()
        draft = client.drafts.create(inbox["id"], to="ann@firm.example", subject="x", body="y")
        draft = client.drafts.add_attachment(
            draft["id"],
            filename="big",
            content_type="a/b",
            data=b"x" * 3_000_000,
            if_match=draft["etag"],
        )
        with self.assertRaises(mailroom.DraftChangedError):
            client.drafts.update(draft["id"], subject="z", if_match='"old"')
        client.drafts.send(draft["id"])
        to = {"to": "ann@firm.example", "subject": "x"}
        batch = client.inboxes.send_batch(
            inbox["id"], items=[{**to, "body": "a"}, {**to, "body": "b"}]
        )
        self.assertEqual(len(batch["data"]), 2)

    @time_out(90)
    def test_mail_is_exported_and_imported(self) -> None:
        client = self.client()
        inbox = client.inboxes.create()
        self.receive(client, inbox, "To keep", "x")
        export = client.exports.create(inbox_id=inbox["id"], format="mbox")
        told: List[str] = []
        done = client.exports.until_done(
            export["id"], on_progress=lambda one: told.append(one["status"])
        )
        self.assertEqual((done["status"], told[-1]), ("done", "done"))
        whole = client.exports.download(export["id"]).content
        stream = client.exports.stream(export["id"])
        self.assertEqual(b"".join(stream), whole)
        other = client.inboxes.create()
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "mail.mbox")
            path.write_bytes(whole)
            started = client.imports.create(other["id"], path)
        self.assertEqual(client.imports.until_done(started["id"])["status"], "done")
        [message] = client.messages.list(other["id"])
        self.assertEqual(message["subject"], "To keep")

    @time_out(60)
    def test_the_operator_has_a_token(self) -> None:
        operator = self.open(service.base_url, api_key=OPERATOR_TOKEN)
        self.assertIn("# HELP", operator.service.metrics())
        self.assertGreaterEqual(operator.admin.accounts.list().page().total, 1)

    @time_out(90)
    def test_workers_share_the_threads_and_leases_are_kept(self) -> None:
        client = self.client()
        inbox = client.inboxes.create()
        for index in range(6):
            self.receive(client, inbox, f"Number {index}", "x", from_=f"ann{index}@firm.example")
        handled: List[str] = []
        errors: List[Any] = []
        running = self.work(client, inbox, handled, errors)
        self.wait_until(lambda: len(handled) == 6)
        running()
        self.assertEqual(len(set(handled)), 6)
        # The one that failed comes again, and is the only one that is left unread.
        self.assertEqual([str(error) for error in errors], ["of the test"])
        [unread] = client.threads.list(inbox["id"], is_read=False)
        self.assertEqual(unread["subject"], "Number 3")
        answered = client.messages.list(inbox["id"], direction="outbound").page().total
        self.assertEqual(answered, 5)

    def work(self, client: Any, inbox: Any, handled: List[str], errors: List[Any]) -> Any:
        def note(claim: Any) -> None:
            handled.append(claim["thread"]["subject"])
            if claim["thread"]["subject"] == "Number 3":
                raise RuntimeError("of the test")

        if self.is_async:
            return self.work_awaiting(client, inbox, note, errors)

        def handle(claim: Any, context: mailroom.WorkContext) -> None:
            # The first takes longer than a lease.
            time.sleep(LEASE_SECONDS + 1 if not handled else 0)
            self.assertFalse(context.lost.is_set())
            note(claim)
            context.mail.inboxes.send(
                inbox["id"], thread_id=claim["threadId"], reply_all=True, body="Yes."
            )

        stop = threading.Event()
        given = {"owner": "w", "concurrency": 2, "stop": stop, "lease_seconds": LEASE_SECONDS}
        told = {"on_error": lambda error, _: errors.append(error)}
        thread = threading.Thread(
            target=client.work, args=(inbox["id"], handle), kwargs={**given, **told}
        )
        thread.start()

        def end() -> None:
            stop.set()
            thread.join()

        return end

    def work_awaiting(self, client: Any, inbox: Any, note: Any, errors: List[Any]) -> Any:
        import asyncio

        async def handle(claim: Any, context: Any) -> None:
            note(claim)
            await context.mail.inboxes.send(
                inbox["id"], thread_id=claim["threadId"], reply_all=True, body="Yes."
            )

        loop = client._loop
        stop = asyncio.Event()
        given = {"owner": "w", "concurrency": 2, "stop": stop, "lease_seconds": LEASE_SECONDS}
        working = client._inner.work(
            inbox["id"], handle, **given, on_error=lambda error, _: errors.append(error)
        )
        future = asyncio.run_coroutine_threadsafe(working, loop)

        def end() -> None:
            loop.call_soon_threadsafe(stop.set)
            future.result(30)

        return end

    def wait_until(self, is_true: Any) -> None:
        while not is_true():
            time.sleep(0.02)

    @time_out(120)
    def test_events_are_followed_over_a_crash_of_the_service(self) -> None:
        client = self.client()
        inbox = client.inboxes.create()
        self.receive(client, inbox, "Before", "x")
        start = client.events.list(order="desc", limit=1).page().data[0]["event_id"]
        found: List[str] = []
        ready = threading.Event()

        def follow() -> None:
            options = {"inbox_ids": [inbox["id"]], "event_types": ["message.received"]}
            for event in client.events.follow(after=start, **options):
                found.append(event["message"]["subject"])
                ready.set()
                if len(found) == 3:
                    break

        thread = threading.Thread(target=follow, daemon=True)
        thread.start()
        self.receive(client, inbox, "Number 1", "x")
        self.assertTrue(ready.wait(30))
        service.kill()
        service.start()
        for number in (2, 3):
            self.receive(client, inbox, f"Number {number}", "x")
        thread.join(60)
        self.assertEqual(found, ["Number 1", "Number 2", "Number 3"])


both(globals(), Served)


class Leases(unittest.TestCase):
    @time_out(60)
    def test_a_worker_whose_lease_is_lost_is_told_and_changes_nothing(self) -> None:
        with mailroom.Mailroom(service.base_url, KEY) as client:
            inbox = client.inboxes.create()
            client.sandbox.receive(
                from_="ann@firm.example", to=inbox["address"], subject="x", text="y"
            )
            stop = threading.Event()
            seen: List[bool] = []

            def handle(claim: Any, context: mailroom.WorkContext) -> None:
                context.mail.threads.release_claim(claim["threadId"], is_read=True)
                seen.append(context.lost.wait(30))
                stop.set()

            errors: List[Exception] = []
            client.work(
                inbox["id"],
                handle,
                owner="w",
                lease_seconds=LEASE_SECONDS,
                stop=stop,
                on_error=lambda error, _: errors.append(error),
            )
            self.assertEqual(seen, [True])
            self.assertIsInstance(errors[0], mailroom.LeaseLostError)

    @time_out(60)
    def test_work_with_a_wrong_key_raises(self) -> None:
        with mailroom.Mailroom(service.base_url, "mr_wrong") as client:
            with self.assertRaises(mailroom.UnauthorizedError):
                client.work("inb_1", lambda *_: None, owner="w")

    @time_out(60)
    def test_stop_ends_a_wait_for_a_thread_at_once(self) -> None:
        with mailroom.Mailroom(service.base_url, KEY) as client:
            inbox = client.inboxes.create()
            stop = threading.Event()
            threading.Timer(0.5, stop.set).start()
            start = time.monotonic()
            client.work(inbox["id"], lambda *_: None, owner="w", stop=stop)
            self.assertLess(time.monotonic() - start, 20)


class Pages(unittest.TestCase):
    """What the documentation prints."""

    def blocks(self, path: str) -> List[str]:
        text = (ROOT / path).read_text("utf-8")
        return [block for block in re.findall(r"^```python\n(.*?)^```$", text, re.M | re.S)]

    def test_every_program_is_python(self) -> None:
        for path in ("docs/python.md", "README.md", "packages/sdk-python/README.md"):
            blocks = self.blocks(path)
            self.assertGreater(len(blocks), 0)
            for block in blocks:
                compile(block, path, "exec")

    @time_out(60)
    def test_the_first_program_of_the_page_runs(self) -> None:
        program = self.blocks("docs/python.md")[0]
        printed = io.StringIO()
        settings = {"MAILROOM_BASE_URL": service.base_url, "MAILROOM_API_KEY": KEY}
        with mock.patch.dict(os.environ, settings):
            with contextlib.redirect_stdout(printed):
                exec(compile(program, "docs/python.md", "exec"), {})
        self.assertIn(
            "bob@example.com Gladly. Your verification code is 482913.\ncode 482913\n", printed.getvalue()
        )


class Example(unittest.TestCase):
    @time_out(60)
    def test_the_example_answers_mail_once(self) -> None:
        with mailroom.Mailroom(service.base_url, KEY) as client:
            env = {
                "PATH": os.environ.get("PATH", ""),
                "PYTHONPATH": str(ROOT / "packages/sdk-python/src"),
                "MAILROOM_BASE_URL": service.base_url,
                "MAILROOM_API_KEY": KEY,
            }
            # The example takes the newest inbox.
            inbox = client.inboxes.create()
            example = subprocess.Popen(
                [sys.executable, str(ROOT / "examples/answer-mail.py")],
                env=env,
                stdout=subprocess.PIPE,
                text=True,
            )
            self.addCleanup(example.wait)
            self.addCleanup(example.kill)
            assert example.stdout is not None
            self.addCleanup(example.stdout.close)
            self.assertEqual(example.stdout.readline(), f"Write to {inbox['address']}\n")
            client.sandbox.receive(
                from_="ann@firm.example",
                to=inbox["address"],
                subject="Sign in",
                text="Your code is 482913.",
            )
            answer = client.inboxes.wait_for_message(inbox["id"], direction="outbound", timeout=30)
            assert answer is not None
            self.assertIn("I found the code 482913.", answer["bodyText"])
            self.assertIn("from ann@firm.example", example.stdout.readline())
