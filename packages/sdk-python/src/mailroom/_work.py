"""Processing the threads of an inbox alongside other workers; shared by both clients."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import Any, List, Optional, Sequence

from ._core import Call, Options, Pause, Steps, is_passing, json_of, nothing_of
from .errors import MailroomConnectionError, MailroomError
from .types import ClaimedThread

WAIT_SECONDS = 60
RENEWALS_PER_LEASE = 3
"""A failed renewal is retried before the lease expires."""
RETRY_SECONDS_MIN = 0.5
RETRY_SECONDS_MAX = 15.0
CLAIMED_AT_ONCE_MAX = 50


@dataclass(frozen=True)
class Job:
    """Which threads to process, and how."""

    inbox_id: str
    owner: str
    lease_seconds: int
    concurrency: int
    category: Optional[str]
    labels: Optional[Sequence[str]]

    def __post_init__(self) -> None:
        if self.concurrency < 1:
            raise ValueError("concurrency must be at least 1.")


def claiming(options: Options, job: Job, free: int) -> Steps[List[ClaimedThread]]:
    """Waits for threads, and retries while the service is unavailable."""
    failures = 0
    body: Any = {
        "owner": job.owner,
        "leaseSeconds": job.lease_seconds,
        "waitSeconds": WAIT_SECONDS,
        "max": min(free, CLAIMED_AT_ONCE_MAX),
        "category": job.category,
        "labels": job.labels,
    }
    while True:
        try:
            call = Call("inboxes.claimThreads", path={"id": job.inbox_id}, body=body)
            return (yield from json_of(options, call))["data"]
        except (MailroomError, MailroomConnectionError) as error:
            if not is_passing(error):
                raise
        yield Pause(min(RETRY_SECONDS_MIN * 2.0 ** min(failures, 10), RETRY_SECONDS_MAX))
        failures += 1


def keeping(options: Options, claim: ClaimedThread, job: Job) -> Steps[Exception]:
    """Renews the lease until it is lost; returns the reason."""
    pause = job.lease_seconds / RENEWALS_PER_LEASE
    one_attempt = replace(options, max_retries=0, timeout=pause)
    body = {"leaseSeconds": job.lease_seconds}
    call = Call("threads.renewClaim", path={"id": claim["threadId"]}, body=body)
    renewed_at = time.monotonic()
    while True:
        yield Pause(pause)
        asked_at = time.monotonic()
        try:
            yield from json_of(one_attempt, call)
            renewed_at = asked_at
        except (MailroomError, MailroomConnectionError) as error:
            is_over = time.monotonic() - renewed_at >= job.lease_seconds
            if is_over or not is_passing(error):
                return error


def releasing(options: Options, claim: ClaimedThread, is_read: Optional[bool]) -> Steps[None]:
    body = {"isRead": True if is_read is None else is_read}
    path = {"id": claim["threadId"]}
    return nothing_of(options, Call("threads.releaseClaim", path=path, body=body))
