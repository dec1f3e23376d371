import os

import pytest
from hypothesis import settings

settings.register_profile("ordinate", deadline=None, max_examples=60, derandomize=True)
settings.load_profile("ordinate")

skipped = []


def pytest_runtest_logreport(report):
    if report.skipped:
        skipped.append(report.nodeid)


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session):
    """In CI everything optional is installed: a skipped test is a hole, not an excuse."""
    if skipped and os.environ.get("ORDINATE_NO_SKIPS"):
        print(f"\nskipped tests are not allowed here: {skipped}")
        session.exitstatus = 1


@pytest.fixture(params=["numpy", "numba"])
def backend(request):
    from ordinate import backends

    return backends.load(request.param)
