import os
import shutil

import pytest
from hypothesis import settings

settings.register_profile("ordinate", deadline=None, max_examples=60, derandomize=True)
settings.load_profile("ordinate")

# Helpers of tests, which hold none themselves and may need what is not installed.
collect_ignore = ["chromium.py", "on_torch.py", "strategies.py", "try_wheel.py", "without_numba"]

SKIPPED = "ordinate/skipped"  # where pytest's cache keeps what was skipped
skipped: dict[str, str] = {}  # by test, why


def pytest_addoption(parser):
    parser.addoption(
        "--skipped-last-time",
        action="store_true",
        help="run only what was skipped last time; with ORDINATE_NO_SKIPS, a skip is a failure",
    )


def pytest_configure(config):
    if config.getoption("--skipped-last-time"):
        config.args[:] = config.cache.get(SKIPPED, []) or pytest.exit("nothing was skipped", 0)


def pytest_collectreport(report):
    _note(report)


def pytest_runtest_logreport(report):
    _note(report)


def _note(report):
    if report.skipped:
        skipped[report.nodeid] = report.longrepr[2].removeprefix("Skipped: ")


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session):
    if hasattr(session.config, "workerinput"):  # one of several processes, which the first sums up
        return
    if session.config.getoption("--skipped-last-time"):
        if skipped and os.environ.get("ORDINATE_NO_SKIPS"):
            session.exitstatus = 1
    elif hasattr(session.config, "cache"):
        session.config.cache.set(SKIPPED, sorted(skipped))


def pytest_unconfigure(config):
    """Say last, after pytest's own last line, what was not tested and what it takes."""
    if not skipped or hasattr(config, "workerinput"):
        return
    print("\nNot tested here:")
    for reason in sorted(set(skipped.values())):
        left = [name.split("::")[0] for name, why in skipped.items() if why == reason]
        print(f"- {len(left)} in {', '.join(sorted(set(left)))}: {reason}")
    print(
        "With a browser on this machine, `make test-extras` installs torch and Dask and tests these."
    )


@pytest.fixture(autouse=True)
def any_memory_limit(monkeypatch):
    """Let small files be streamed within small limits; tests/test_least_limits.py has the least."""
    from ordinate.files import streaming
    from ordinate.files.formats import blocks

    monkeypatch.setattr(streaming, "LEAST", 0)
    monkeypatch.setattr(blocks, "largest_batch", lambda path: 0)


@pytest.fixture(params=["numpy", "numba"])
def backend(request):
    from ordinate.kernels import backends

    if request.param == "numba":
        pytest.importorskip("numba", reason="numba is not installed")
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
