from __future__ import annotations

import json
import threading
import time
import unittest
from typing import Any, Dict, List
from urllib.parse import parse_qs, urlsplit

import mailroom
from mailroom._follow import EventStreamParser

from .clients import both, time_out
from .peer import Peer


class LogPeer(Peer):
    """A service with a log: it lists events and streams them, and breaks streams by a script."""

    def __init__(self) -> None:
        self.log: List[Dict[str, Any]] = []
        self.streams: List[Any] = []
        """What each stream was asked to begin after."""
        self.events_per_stream = 1_000_000
        self.refusals: List[Any] = []
        self.added = threading.Condition()
        super().__init__()

    def add(self, count: int = 1, **fields: Any) -> None:
        with self.added:
            for _ in range(count):
                id = f"evt_{len(self.log):08}"
                self.log.append({"event": "message.received", "event_id": id, **fields})
            self.added.notify_all()

    def ids(self) -> List[str]:
        return [one["event_id"] for one in self.log]

    def answer(self, handler: Any, step: Any) -> None:
        url = urlsplit(handler.path)
        query = {name: values[0] for name, values in parse_qs(url.query).items()}
        if url.path == "/v1/events":
            super().answer(handler, self.page(query))
            return
        self.streams.append(handler.headers.get("last-event-id"))
        if self.refusals:
            super().answer(handler, self.refusals.pop(0))
            return
        handler.send_response(200)
        handler.send_header("content-type", "text/event-stream")
        handler.send_header("transfer-encoding", "chunked")
        handler.end_headers()
        self.write(handler, "retry: 3000\n\n")
        self.stream(handler)

    def page(self, query: Dict[str, str]) -> Any:
        after = query.get("after", "")
        if after and not after.startswith("evt_"):
            body = {"error": "bad_request", "message": f"{after} is no event id."}
            return {"status": 400, "body": body}
        with self.added:
            found = [one for one in self.log if one["event_id"] > after]
        if query.get("order") == "desc":
            found = found[::-1]
        return {"body": {"data": found[: int(query.get("limit", 50))], "total": len(found)}}

    def stream(self, handler: Any) -> None:
        asked = self.streams[-1]
        with self.added:
            at = len(self.log) if asked is None else self.ids().index(asked) + 1
        for _ in range(self.events_per_stream):
            with self.added:
                while len(self.log) <= at and not self._over.is_set():
                    self.added.wait(0.05)
                if self._over.is_set():
                    break
                event = self.log[at]
            at += 1
            try:
                self.write(
                    handler, f"id: {event['event_id']}\nevent: x\ndata: {json.dumps(event)}\n\n"
                )
            except OSError:
                break
        # Cut off in the middle of an event.
        handler.close_connection = True
        try:
            self.write(handler, "id: evt_9\ndata: {")
        except OSError:
            pass

    def write(self, handler: Any, text: str) -> None:
        octets = text.encode()
        handler.wfile.write(b"%x\r\n%b\r\n" % (len(octets), octets))
        handler.wfile.flush()


class Follows:
    def read(self, client: Any, count: int, **options: Any) -> List[str]:
        ids: List[str] = []
        for event in client.events.follow(**options):
            ids.append(event["event_id"])
            if len(ids) == count:
                break
        return ids

    @time_out(30)
    def test_events_after_the_given_one_come_in_order_with_the_filters(self) -> None:
        with LogPeer() as peer:
            peer.add(4)
            options = {
                "after": peer.ids()[0],
                "event_types": ["message.received", "message.sent"],
                "categories": ["personal"],
                "inbox_ids": ["inb_1"],
            }
            for event in peer.log:
                event["inbox_id"] = "inb_1"
            self.assertEqual(self.read(self.open(peer.base_url), 3, **options), peer.ids()[1:])
            query = parse_qs(urlsplit(peer.requests[-1].url).query)
            self.assertEqual(
                query,
                {
                    "event_types": ["message.received,message.sent"],
                    "categories": ["personal"],
                    "inbox_id": ["inb_1"],
                },
            )

    @time_out(60)
    def test_broken_connections_are_reopened_and_no_event_is_lost_or_repeated(self) -> None:
        with LogPeer() as peer:
            peer.add(60)
            peer.events_per_stream = 13
            found = self.read(self.open(peer.base_url), 59, after=peer.ids()[0])
            self.assertEqual(found, peer.ids()[1:])
            self.assertGreaterEqual(len(peer.streams), 5)

    @time_out(30)
    def test_without_a_start_it_begins_with_new_events_and_misses_none_before_the_first(
        self,
    ) -> None:
        with LogPeer() as peer:
            peer.add(2)
            peer.refusals = [{"status": 503, "headers": {"retry-after": "0"}}]
            client = self.open(peer.base_url)
            threading.Timer(0.1, lambda: self.add_once_streamed(peer)).start()
            self.assertEqual(self.read(client, 1), ["evt_00000002"])
            self.assertEqual(peer.streams[0], "evt_00000001")

    def add_once_streamed(self, peer: LogPeer) -> None:
        while not peer.streams:
            time.sleep(0.01)
        peer.add(1)

    @time_out(30)
    def test_the_first_event_of_an_empty_log_is_not_missed(self) -> None:
        with LogPeer() as peer:
            threading.Timer(0.3, peer.add).start()
            found: List[str] = []
            for event in self.open(peer.base_url).events.follow():
                found.append(event["event_id"])
                if len(found) == 1:
                    peer.add(1)
                else:
                    break
            self.assertEqual(found, ["evt_00000000", "evt_00000001"])

    @time_out(30)
    def test_of_several_inboxes_and_pods_only_their_events_come(self) -> None:
        with LogPeer() as peer:
            peer.add(1)
            for inbox, pod in (
                ("inb_1", "pod_9"),
                ("inb_2", "pod_9"),
                ("inb_3", "pod_1"),
                ("inb_4", "pod_1"),
            ):
                peer.add(1, inbox_id=inbox, pod_id=pod)
            options = {"inbox_ids": ["inb_1"], "pod_ids": ["pod_1"], "after": peer.ids()[0]}
            found = self.read(self.open(peer.base_url), 3, **options)
            self.assertEqual(found, ["evt_00000001", "evt_00000003", "evt_00000004"])

    @time_out(30)
    def test_a_refusal_ends_it_at_once(self) -> None:
        with LogPeer() as peer:
            peer.add(1)
            peer.refusals = [{"status": 401, "body": {"error": "unauthorized", "message": "No."}}]
            with self.assertRaises(mailroom.UnauthorizedError):
                self.read(self.open(peer.base_url), 1)
            self.assertEqual(len(peer.streams), 1)

    @time_out(30)
    def test_an_unknown_start_is_reported_once_and_new_events_are_followed(self) -> None:
        with LogPeer() as peer:
            peer.add(2)
            notices: List[str] = []
            threading.Timer(0.1, lambda: self.add_once_streamed(peer)).start()
            client = self.open(peer.base_url)
            found = self.read(client, 1, after="unknown", on_notice=notices.append)
            self.assertEqual(found, ["evt_00000002"])
            self.assertEqual(notices, ["unknown is no event id."])


both(globals(), Follows)


class Closing(unittest.TestCase):
    @time_out(30)
    def test_close_ends_a_wait_for_an_event_and_for_a_connection(self) -> None:
        for is_away in (False, True):
            with LogPeer() as peer:
                peer.add(1)
                if is_away:
                    peer.refusals = [{"status": 503, "headers": {"retry-after": "50"}}] * 50
                following = mailroom.Mailroom(peer.base_url, "key").events.follow()

                def close_once_streamed() -> None:
                    while not peer.streams:
                        time.sleep(0.01)
                    time.sleep(0.1)
                    following.close()

                threading.Thread(target=close_once_streamed).start()
                self.assertEqual(list(following), [])
                self.assertRaises(StopIteration, next, following)


class Parser(unittest.TestCase):
    def test_events_in_any_pieces_are_the_same(self) -> None:
        text = ": a\r\n\r\n:\n\nretry: 3000\n\nid: 1\ndata: é\ndata:two\n\ndata: cut".encode()
        for size in range(1, len(text)):
            parser = EventStreamParser()
            found = [
                one for at in range(0, len(text), size) for one in parser.feed(text[at : at + size])
            ]
            self.assertEqual(
                [(one.comment, one.data) for one in found], [("a", ""), ("", "é\ntwo")]
            )
