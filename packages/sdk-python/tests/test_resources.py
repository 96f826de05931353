"""What the client returns: dicts whose fields are attributes too."""

from __future__ import annotations

import asyncio
import copy
import json
import pickle
import unittest
from typing import Any

from mailroom import Page
from mailroom._resource import Resource
from mailroom.types import (
    Error,
    EventMessage,
    Message,
    MessageReceivedEvent,
    SentMessage,
    Thread,
    ThreadClaimedEvent,
    ThreadLastMessage,
)

from .clients import HAS_HTTPX, ClientTest, both
from .peer import Peer

THREAD = {
    "id": "thr_1",
    "lastMessageAt": "2026-01-01T00:00:00.000Z",
    "lastMessage": {"id": "msg_1", "from": "ann@example.com"},
    "participants": [{"name": "Ann", "address": "ann@example.com"}],
    "metadata": {"lastOrder": "7"},
    "newerField": {"isNew": True},
}


class ResourceTest(unittest.TestCase):
    def setUp(self) -> None:
        self.thread = Thread(THREAD)

    def test_a_field_is_an_attribute_and_an_item(self) -> None:
        self.assertEqual(self.thread.last_message_at, self.thread["lastMessageAt"])
        self.assertEqual(self.thread.last_message.id, "msg_1")
        self.assertEqual(self.thread.participants[0].address, "ann@example.com")
        self.assertIs(type(self.thread.last_message), ThreadLastMessage)
        self.assertIs(self.thread["lastMessage"], self.thread.last_message)

    def test_a_python_keyword_gets_an_underscore(self) -> None:
        self.assertEqual(self.thread.last_message.from_, "ann@example.com")

    def test_an_omitted_field_is_none_as_an_attribute_and_missing_as_an_item(self) -> None:
        self.assertIsNone(self.thread.claim)
        self.assertNotIn("claim", self.thread)
        with self.assertRaises(KeyError):
            self.thread["claim"]

    def test_it_remains_a_dict(self) -> None:
        self.assertIsInstance(self.thread, dict)
        self.assertEqual(self.thread, THREAD)
        self.assertEqual(json.loads(json.dumps(self.thread)), THREAD)
        self.assertEqual({**self.thread}, THREAD)
        self.assertEqual(dict(**self.thread), THREAD)
        self.assertEqual(repr(self.thread), repr(THREAD))

    def test_a_copy_keeps_the_classes(self) -> None:
        for made in (copy.deepcopy(self.thread), pickle.loads(pickle.dumps(self.thread))):
            self.assertEqual(made, THREAD)
            self.assertIs(type(made), Thread)
            self.assertIs(type(made.last_message), ThreadLastMessage)
        self.assertIs(type(copy.copy(self.thread)), Thread)

    def test_a_misspelled_attribute_is_refused_with_the_names_that_exist(self) -> None:
        thread: Any = self.thread
        with self.assertRaisesRegex(AttributeError, r"'last_mesage'.* last_message, "):
            thread.last_mesage
        self.assertFalse(hasattr(thread, "lastmessage"))
        self.assertIn("last_message", dir(thread))

    def test_an_attribute_cannot_be_set(self) -> None:
        with self.assertRaisesRegex(AttributeError, "update methods"):
            self.thread.assignee = "ann"
        self.thread["assignee"] = "ann"
        self.assertEqual(self.thread.assignee, "ann")

    def test_a_pattern_matches_class_and_attributes(self) -> None:
        match self.thread:
            case Thread(id=found, claim=None):
                self.assertEqual(found, "thr_1")
            case _:
                self.fail("no match")

    def test_a_part_of_another_event_is_none(self) -> None:
        event: Any = ThreadClaimedEvent({"event": "thread.claimed", "claim": {"owner": "ann"}})
        self.assertEqual((event.claim.owner, event.message), ("ann", None))
        with self.assertRaises(AttributeError):
            event.mesage

    def test_a_send_knows_whether_it_is_held(self) -> None:
        self.assertFalse(SentMessage({"messageId": "msg_1"}).is_held)
        self.assertTrue(SentMessage({"messageId": "msg_1", "hold": {"id": "rev_1"}}).is_held)


class Responses(ClientTest):
    def test_every_object_of_a_response_has_attributes(self) -> None:
        with Peer({"body": THREAD}) as peer:
            thread = self.open(peer.base_url).threads.get("thr_1")
        self.assertIs(type(thread), Thread)
        self.assertEqual(thread.last_message.from_, "ann@example.com")
        # A field of a newer service
        self.assertTrue(thread.newer_field.is_new)
        self.assertEqual(thread, THREAD)

    def test_an_event_has_the_class_of_its_type(self) -> None:
        kinds = ("message.received", "thread.claimed", "later.kind")
        events = [{"event": kind, "event_id": kind, "message": {"from": "ann"}} for kind in kinds]
        with Peer({"body": {"data": events, "total": 3}}) as peer:
            page = self.open(peer.base_url).events.list().page()
        classes = [MessageReceivedEvent, ThreadClaimedEvent, Resource]
        self.assertEqual([type(event) for event in page.data], classes)
        self.assertIsInstance(page.data[0].message, EventMessage)
        self.assertEqual(page.data[0].message.from_, "ann")
        self.assertEqual(page.data[2].message["from"], "ann")

    def test_a_page_is_a_dict_too(self) -> None:
        answer = {"data": [{"id": "msg_1"}], "total": 7, "isComplete": False}
        with Peer({"body": answer}) as peer:
            page = self.open(peer.base_url).messages.list("inb_1").page()
        self.assertIs(type(page), Page)
        self.assertIs(type(page.data[0]), Message)
        self.assertEqual((page.total, page["total"], page.is_complete), (7, 7, False))
        self.assertIsNone(page.total_is_exact)
        self.assertEqual(page, answer)

    @unittest.skipUnless(HAS_HTTPX, "httpx is not installed: AsyncMailroom is NOT TESTED")
    def test_an_asynchronous_list_can_be_awaited(self) -> None:
        from mailroom import AsyncMailroom

        async def read(base_url: str) -> int:
            async with AsyncMailroom(base_url, "mr_key") as client:
                return (await client.pods.list()).total

        with Peer({"body": {"data": [], "total": 7}}) as peer:
            self.assertEqual(asyncio.run(read(peer.base_url)), 7)

    def test_alternatives_get_the_class_of_their_fields(self) -> None:
        accepted = {"status": 200, "body": {"messageId": "msg_1"}}
        refused = {"status": 422, "body": {"error": "recipient_suppressed", "message": "No."}}
        with Peer({"body": {"data": [accepted, refused]}}) as peer:
            batch = self.open(peer.base_url).inboxes.send_batch("inb_1", items=[])
        self.assertEqual([type(one.body) for one in batch.data], [SentMessage, Error])

    def test_the_body_of_an_error_has_attributes(self) -> None:
        body = {"error": "bad_request", "message": "No.", "details": [{"path": "to", "message": "x"}]}
        with Peer({"status": 400, "body": body}) as peer:
            with self.assertRaises(Exception) as caught:
                self.open(peer.base_url).threads.get("thr_1")
        error: Any = caught.exception
        self.assertEqual(error.details[0].path, "to")
        self.assertEqual(error.body.details[0].message, "x")


both(globals(), Responses)
del Responses
