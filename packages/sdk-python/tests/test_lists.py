from __future__ import annotations

from typing import Any, Dict, List
from urllib.parse import parse_qs, urlsplit

from .clients import both, time_out
from .peer import Peer


class GrowingPeer(Peer):
    """Answers pages of a list that grows by some entries with each page."""

    def __init__(self, length: int, growth: int = 0, total: int = 10_000_000) -> None:
        self.items = [{"id": f"old{index}"} for index in range(length)]
        self._growth = growth
        self._total = total
        super().__init__()

    def answer(self, handler: Any, step: Any) -> None:
        query = {
            name: int(values[0]) for name, values in parse_qs(urlsplit(handler.path).query).items()
        }
        offset, limit = query.get("offset", 0), query.get("limit", 50)
        body = {
            "data": self.items[offset : offset + limit],
            "total": min(self._total, len(self.items)),
        }
        for _ in range(self._growth):
            self.items.insert(0, {"id": f"new{len(self.items)}"})
        super().answer(handler, {"body": body})


class Lists:
    def ids(self, peer: Peer, **query: Any) -> List[str]:
        return [one["id"] for one in self.open(peer.base_url).pods.list(**query)]

    def test_all_entries_come_in_order(self) -> None:
        with GrowingPeer(250) as peer:
            self.assertEqual(self.ids(peer), [f"old{index}" for index in range(250)])
            self.assertEqual(len(peer.requests), 3)

    def test_a_list_longer_than_its_capped_total_is_read_to_its_end(self) -> None:
        with GrowingPeer(10_150, total=10_000) as peer:
            self.assertEqual(len(self.ids(peer, offset=9_900)), 250)

    def test_entries_added_during_reading_cause_no_repeats(self) -> None:
        with GrowingPeer(30, growth=3) as peer:
            ids = self.ids(peer, limit=10)
            self.assertEqual((len(ids), len(set(ids))), (30, 30))

    def test_a_caller_that_stops_early_causes_no_further_page(self) -> None:
        with GrowingPeer(250) as peer:
            for one in self.open(peer.base_url).pods.list():
                if one["id"] == "old3":
                    break
            self.assertEqual(len(peer.requests), 1)

    def test_the_first_entry_needs_one_request_for_one_entry(self) -> None:
        with GrowingPeer(250) as peer:
            self.assertEqual(self.open(peer.base_url).pods.list().first().id, "old0")
            self.assertEqual([seen.url for seen in peer.requests], ["/v1/pods?limit=1"])
        with GrowingPeer(0) as peer:
            self.assertIsNone(self.open(peer.base_url).pods.list().first())

    def test_a_blocking_list_has_the_entries_of_its_first_page(self) -> None:
        if self.is_async:
            return
        with GrowingPeer(250) as peer:
            pods = self.open(peer.base_url).pods.list(limit=2)
            self.assertEqual(([pod.id for pod in pods.data], pods.total), (["old0", "old1"], 250))
            self.assertEqual(len(peer.requests), 1)

    def test_all_entries_or_the_first_ones_can_be_had_as_a_list(self) -> None:
        with GrowingPeer(250) as peer:
            pods = self.open(peer.base_url).pods
            self.assertEqual(len(pods.list().all()), 250)
            for most, urls in ((3, 1), (150, 2), (0, 0)):
                peer.requests.clear()
                found = [pod.id for pod in pods.list().all(max=most)]
                self.assertEqual(found, [f"old{index}" for index in range(most)])
                self.assertEqual(len(peer.requests), urls)

    def test_a_list_that_is_shorter_than_its_total_ends(self) -> None:
        pages = [{"data": [{"id": "a"}], "total": 5}, {"data": [], "total": 5}]
        with Peer(*({"body": page} for page in pages)) as peer:
            self.assertEqual(self.ids(peer), ["a"])

    def test_the_log_is_read_on_from_its_last_event(self) -> None:
        full = [{"event_id": f"evt_{index}"} for index in range(2)]
        pages = [{"data": full, "total": 3}, {"data": [{"event_id": "evt_2"}], "total": 1}]
        with Peer(*({"body": page} for page in pages)) as peer:
            events = list(self.open(peer.base_url).events.list(limit=2, order="asc"))
            self.assertEqual([one["event_id"] for one in events], ["evt_0", "evt_1", "evt_2"])
            self.assertEqual(peer.requests[1].url, "/v1/events?limit=2&order=asc&after=evt_1")


def sent(number: int, status: str, **fields: Any) -> Dict[str, Any]:
    return {
        "id": f"msg_{number}",
        "direction": "outbound",
        "status": status,
        "threadId": "thr_1",
        "fromAddr": "agent@example.com",
        "subject": f"Number {number}",
        "createdAt": f"2026-11-20T09:00:0{number}.000Z",
        "isTruncated": False,
        **fields,
    }


def page(*data: Any) -> Any:
    return {"body": {"data": data, "total": len(data)}}


NOTHING = {"body": {"message": None}}


class Waits:
    def wait(self, *steps: Any, **options: Any) -> Any:
        with Peer(*steps) as peer:
            wanted = {"direction": "outbound", "timeout": 60, **options}
            message = self.open(peer.base_url).inboxes.wait_for_message("inb_1", **wanted)
            queries = [parse_qs(urlsplit(one.url).query) for one in peer.requests]
            return message and message["id"], queries

    @time_out(30)
    def test_the_outcome_of_a_message_that_was_pending_at_the_beginning_is_awaited(self) -> None:
        before = page(sent(2, "pending"), sent(1, "sent"))
        after = page(sent(2, "sent"), sent(1, "sent"))
        found, queries = self.wait(before, {"body": {"message": sent(2, "sent")}}, after)
        self.assertEqual(found, "msg_2")
        self.assertEqual(queries[1], {"timeout": ["60"], "direction": ["outbound"]})

    @time_out(30)
    def test_an_outcome_between_two_requests_is_found_and_an_earlier_one_is_not(self) -> None:
        before = page(sent(3, "pending"), sent(2, "pending"), sent(1, "sent"))
        still = page(sent(4, "pending"), sent(3, "pending"), sent(2, "pending"), sent(1, "sent"))
        older = page(sent(4, "pending"), sent(3, "pending"), sent(2, "sent"), sent(1, "sent"))
        self.assertEqual(self.wait(before, NOTHING, still, NOTHING, older)[0], "msg_2")
        newer = page(sent(4, "sent"), sent(3, "pending"), sent(2, "pending"), sent(1, "sent"))
        self.assertEqual(self.wait(before, NOTHING, still, NOTHING, newer)[0], "msg_4")
        everything = page(sent(4, "sent"), sent(3, "sent"), sent(2, "sent"), sent(1, "sent"))
        self.assertEqual(self.wait(before, NOTHING, everything, subject="number 3")[0], "msg_3")
        self.assertEqual(self.wait(page(), NOTHING, page(sent(1, "sent")))[0], "msg_1")

    @time_out(30)
    def test_mail_of_another_category_between_two_requests_is_not_the_one(self) -> None:
        arrived = page(
            sent(2, "sent", direction="inbound", category="personal"),
            sent(1, "sent", direction="inbound", category="marketing"),
        )
        wanted = {"direction": "inbound", "category": "personal"}
        self.assertEqual(self.wait(page(), NOTHING, arrived, **wanted)[0], "msg_2")

    @time_out(30)
    def test_a_given_message_is_where_the_wait_starts(self) -> None:
        found, queries = self.wait(NOTHING, {"body": {"message": sent(2, "sent")}}, after="msg_2")
        self.assertEqual(found, "msg_2")
        self.assertEqual([query["after"] for query in queries], [["msg_2"], ["msg_2"]])

    @time_out(30)
    def test_a_wait_without_a_match_ends_at_its_time(self) -> None:
        found, queries = self.wait(page(), NOTHING, page(), timeout=0)
        self.assertEqual((found, len(queries)), (None, 3))

    @time_out(30)
    def test_a_job_is_asked_for_until_it_is_done(self) -> None:
        states = ["queued", "running", "done"]
        with Peer(*({"body": {"id": "exp_1", "status": state}} for state in states)) as peer:
            told: List[str] = []
            client = self.open(peer.base_url)
            done = client.exports.until_done(
                "exp_1", on_progress=lambda one: told.append(one["status"])
            )
            self.assertEqual((done["status"], told), ("done", states))


both(globals(), Lists)
both(globals(), Waits)
