import os
import shutil

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


@pytest.fixture(scope="session")
def browser(tmp_path_factory):
    from chromium import Chromium, find

    program = find()
    if program is None:
        pytest.skip("no Chromium is installed: apt-get install chromium, or set ORDINATE_CHROMIUM")
    profile = tmp_path_factory.mktemp("profile")
    page = Chromium(program, profile)
    yield page
    page.close()
    shutil.rmtree(profile, ignore_errors=True)


@pytest.fixture
def show(browser, tmp_path):
    """Open a report; afterwards there must be no error, and no request but for the file."""
    from ordinate import html_report

    def opened(*args, size=(1200, 1000), dark=False, touch=False, **options):
        path = tmp_path / "report.html"
        path.write_text(html_report(*args, **options), encoding="utf-8")
        browser.look(*size, dark=dark, touch=touch)
        browser.open(path)
        return browser

    yield opened
    assert browser.errors == []
    assert [url for url in browser.requests if not url.startswith("data:")] == [
        (tmp_path / "report.html").as_uri()
    ]
    assert not browser.js("Boolean(window.hacked)")
