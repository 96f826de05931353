"""The entry of `npm run test:python`. Arguments are names of test modules, such as `test_follow`."""

import sys
import unittest
from pathlib import Path

HERE = Path(__file__).resolve().parent
# The names of the tests are `tests.test_…`, and the client is that of the checkout.
sys.path[:1] = [str(HERE.parent), str(HERE.parent / "src")]

from tests.clients import HAS_HTTPX  # noqa: E402

loader = unittest.TestLoader()
wanted = sys.argv[1:]
suite = (
    loader.loadTestsFromNames([f"tests.{name}" for name in wanted])
    if wanted
    else loader.discover(str(HERE), top_level_dir=str(HERE.parent))
)
result = unittest.TextTestRunner(verbosity=2 if wanted else 1).run(suite)
if not HAS_HTTPX:
    print(
        "httpx is not installed: AsyncMailroom was NOT TESTED (Debian: python3-httpx).",
        file=sys.stderr,
    )
sys.exit(0 if result.wasSuccessful() else 1)
