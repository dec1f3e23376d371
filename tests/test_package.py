import subprocess
import sys
import threading
import time
from importlib.metadata import version
from pathlib import Path

import pytest

import ordinate
from ordinate._base import threads
from ordinate._base.optional import require
from ordinate.kernels import backends


def run_python(code: str) -> subprocess.CompletedProcess:
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)


def test_import_loads_nothing_heavy():
    heavy = [
        "numba",
        "torch",
        "matplotlib",
        "sklearn",
        "scipy",
        "pyarrow",
        "pandas",
        "typer",
        "rich",
    ]
    code = f"import sys, ordinate; print([m for m in {heavy} if m in sys.modules])"
    assert run_python(code).stdout.strip() == "[]"


def test_every_public_name_resolves():
    for name in ordinate.__all__:
        assert getattr(ordinate, name) is not None
    assert set(ordinate.__all__) <= set(dir(ordinate))
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = ordinate.nothing


def test_version_and_type_marker():
    assert ordinate.__version__ == version("ordinate")
    assert (Path(ordinate.__file__).parent / "py.typed").exists()


def test_without_numba_everything_works_with_one_warning():
    code = """
import sys, warnings
sys.modules["numba"] = None
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    import ordinate
    points = ordinate.sample_points(30, random_state=0)
    triplets = ordinate.sample_triplets(points, 3000, noise=0.1, random_state=0)
    grouped, starts = triplets.grouped()
    train, test = triplets.split(random_state=0)
    assert (grouped.rows[:, 0][1:] >= grouped.rows[:, 0][:-1]).all()
    assert 0.05 < ordinate.triplet_error(points, test) < 0.15
print([str(w.message) for w in caught])
"""
    result = run_python(code)
    assert result.returncode == 0, result.stderr
    assert result.stdout.count("numba could not be imported") == 1
    assert "plain NumPy backend" in result.stdout


def test_without_torch():
    code = """
import sys

class NoTorch:
    def find_spec(self, name, path=None, target=None):
        if name == "torch":
            raise ImportError("not here")

sys.meta_path.insert(0, NoTorch())
from ordinate import STE
rows = [[0, 1, 2], [1, 2, 0], [2, 1, 0]] * 9
print(STE(1, device="auto", regularization=1.0).fit(rows).device_)
try:
    STE(device="cuda").fit(rows)
except ImportError as error:
    print(error)
"""
    result = run_python(code)
    assert result.stdout.startswith("cpu\n"), result.stderr
    assert result.stdout.count("pip install torch") == 1


def test_backend_names():
    assert backends.load("numpy").__name__.endswith("numpy_")
    assert backends.load("auto") is backends.load("numba")
    with pytest.raises(ValueError, match="backend must be one of 'auto', 'numba', 'numpy'"):
        backends.load("fortran")


def test_a_missing_optional_library_says_what_to_install():
    assert require("json", extra="gpu").__name__ == "json"
    with pytest.raises(ImportError, match="pip install a_library"):
        require("a_library_that_is_not_there", extra="gpu")


@pytest.mark.parametrize("number", [0, -1, "two"])
def test_threads_must_be_positive(number):
    with pytest.raises(ValueError, match="whole number of at least 1"), ordinate.threads(number):
        pass


def test_threads_follow_the_environment(monkeypatch):
    from ordinate._base.threads import n_threads

    monkeypatch.setenv("ORDINATE_THREADS", "3")
    assert n_threads() == 3
    with ordinate.threads(5):
        assert n_threads() == 5
    assert n_threads() == 3
    monkeypatch.delenv("ORDINATE_THREADS")
    assert n_threads() >= 1


@pytest.mark.parametrize(
    "call", ["run(abs, [1, 2])", "next(in_order(abs, [1], workers=1, ahead=0))"]
)
def test_python_ends_after_an_interruption_that_meets_the_start_of_a_thread(call):
    code = f"""
import threading
from ordinate._base.threads import in_order, run, threads

class Interrupted(threading.Thread):
    def start(self):
        super().start()
        raise KeyboardInterrupt

threading.Thread = Interrupted
with threads(2):
    try:
        {call}
    except KeyboardInterrupt:
        print("interrupted")
"""
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60
    )
    assert (result.stdout, result.returncode) == ("interrupted\n", 0), result.stderr


def test_long_tasks_end_when_nobody_wants_them_any_more():
    """Those that run others, such as a fit with its passes: with the next of these."""
    from ordinate._base.threads import run

    begun, ended = threading.Event(), threading.Event()

    def task(number):
        if number == 0:
            begun.wait()
            raise ValueError("no")
        try:
            begun.set()
            for _ in range(10_000):
                run(time.sleep, [0.001])
        except KeyboardInterrupt:
            ended.set()

    with ordinate.threads(2), pytest.raises(ValueError, match="no"):
        run(task, range(2))
    assert ended.wait(timeout=5)


def test_threads_that_want_different_numbers_of_threads_do_not_disturb_each_other(monkeypatch):
    """One of them ends the pool of the other, who may just be handing out tasks."""
    wanted, found = threading.local(), []

    def run_tasks(number):
        wanted.number = number
        for _ in range(200):
            found.append(threads.run(abs, range(100)))

    monkeypatch.setattr(threads, "n_threads", lambda: wanted.number)
    both = [threading.Thread(target=run_tasks, args=[number]) for number in (2, 3)]
    for thread in both:
        thread.start()
    for thread in both:
        thread.join()
    assert found == [list(range(100))] * 400


def test_every_module_can_be_the_first_that_is_imported():
    """No circle of imports hides behind an order in which it happens to work."""
    code = """
import sys
from importlib import import_module
from pathlib import Path

root = Path(import_module("ordinate").__file__).parent
for file in sorted(root.rglob("*.py")):
    if "triton_" in file.parts or file.name == "__main__.py":
        continue
    name = ".".join(["ordinate", *file.relative_to(root).with_suffix("").parts])
    for loaded in [name for name in sys.modules if name.split(".")[0] == "ordinate"]:
        del sys.modules[loaded]
    try:
        import_module(name.removesuffix(".__init__"))
    except ImportError as error:
        if "numba" not in str(error) and "torch" not in str(error):
            print(name, error)
"""
    result = run_python(code)
    assert (result.stdout, result.returncode) == ("", 0), result.stderr
