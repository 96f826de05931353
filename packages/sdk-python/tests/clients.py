"""Both clients with one face, so that each test is written once."""

from __future__ import annotations

import asyncio
import importlib.util
import inspect
import os
import threading
import unittest
from types import MappingProxyType
from typing import Any, Callable, Dict, Iterator, Mapping, Optional
from unittest import mock

import mailroom
from mailroom import Mailroom

HAS_HTTPX = importlib.util.find_spec("httpx") is not None


class Blocking:
    """An object of the asynchronous client whose methods block, and whose iterations are plain ones."""

    def __init__(self, inner: Any, loop: asyncio.AbstractEventLoop) -> None:
        self._inner = inner
        self._loop = loop

    def _wait(self, awaitable: Any) -> Any:
        async def run() -> Any:
            return await awaitable

        return asyncio.run_coroutine_threadsafe(run(), self._loop).result()

    def _wrap(self, value: Any) -> Any:
        is_ours = (
            type(value).__module__.startswith("mailroom") and "_methods" in type(value).__module__
        )
        if is_ours or hasattr(value, "__aiter__") or type(value).__name__ == "AsyncMailroom":
            return Blocking(value, self._loop)
        if inspect.isawaitable(value):
            return self._wrap(self._wait(value))
        return value

    def __getattr__(self, name: str) -> Any:
        value = getattr(self._inner, name)
        if not callable(value):
            return self._wrap(value)
        return lambda *args, **given: self._wrap(value(*args, **given))

    def __iter__(self) -> Iterator[Any]:
        iterator = self._inner.__aiter__()
        try:
            while True:
                try:
                    yield self._wait(iterator.__anext__())
                except StopAsyncIteration:
                    return
        finally:
            close = getattr(iterator, "aclose", None)
            if close is not None:
                self._wait(close())


class ClientTest(unittest.TestCase):
    """A test of one client, made by `both`."""

    is_async = False

    def open(
        self,
        base_url: Optional[str],
        *,
        environment: Mapping[str, str] = MappingProxyType({}),
        **options: Any,
    ) -> Any:
        with mock.patch.dict(os.environ, environment):
            return self._open(base_url, {"api_key": "mr_key", **options})

    def _open(self, base_url: Optional[str], options: Dict[str, Any]) -> Any:
        if not self.is_async:
            client = Mailroom(base_url, **options)
            self.addCleanup(client.close)
            return client
        loop = asyncio.new_event_loop()
        thread = threading.Thread(target=loop.run_forever, daemon=True)
        thread.start()

        async def make() -> Any:
            return mailroom.AsyncMailroom(base_url, **options)

        client = asyncio.run_coroutine_threadsafe(make(), loop).result()

        def close() -> None:
            asyncio.run_coroutine_threadsafe(client.aclose(), loop).result()
            loop.call_soon_threadsafe(loop.stop)
            thread.join()
            loop.close()

        self.addCleanup(close)
        return Blocking(client, loop)


def both(scope: dict, tests: type) -> None:
    """Puts the tests into the module, for each client."""
    name = tests.__name__
    for is_async in (False, True):
        kind = "Async" if is_async else "Blocking"
        made: Any = type(f"{kind}{name}", (tests, ClientTest), {"is_async": is_async})
        if is_async and not HAS_HTTPX:
            made = unittest.skip("httpx is not installed: AsyncMailroom is NOT TESTED")(made)
        made.__module__ = scope["__name__"]
        scope[made.__name__] = made


def time_out(seconds: float) -> Callable[[Any], Any]:
    """Fails a test that hangs."""

    def decorate(test: Any) -> Any:
        def run(self: unittest.TestCase) -> None:
            outcome: list = []

            def carry_out() -> None:
                try:
                    test(self)
                except BaseException as error:
                    outcome.append(error)

            thread = threading.Thread(target=carry_out, daemon=True)
            thread.start()
            thread.join(seconds)
            if thread.is_alive():
                self.fail(f"not done after {seconds} seconds")
            if outcome:
                raise outcome[0]

        run.__name__ = test.__name__
        run.__doc__ = test.__doc__
        return run

    return decorate
