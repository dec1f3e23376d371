"""Build the source distribution and the wheel, check them, and use both away from the sources.

The wheel is built from the source distribution, checked by twine, installed alone in an empty environment, and used. What
the source distribution holds is enough to run tests. ``python tests/try_wheel.py FOLDER`` keeps both in a folder.
"""

import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import venv
from pathlib import Path

SOURCES = Path(__file__).parents[1]
TESTS = ("test_triplets", "test_landmark", "test_cli_files")
PIP = ["-m", "pip", "--disable-pip-version-check", "--quiet", "install"]


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        tools = environment(folder / "tools")
        run([tools / "python", *PIP, "build", "twine"], folder)
        run([tools / "python", "-m", "build", "--outdir", folder / "dist", SOURCES], folder)
        (wheel,), (source,) = (folder / "dist").glob("*.whl"), (folder / "dist").glob("*.tar.gz")
        run([tools / "python", "-m", "twine", "check", "--strict", wheel, source], folder)

        programs = environment(folder / "env")
        run([programs / "python", *PIP, wheel], folder)
        try_wheel(programs, folder)
        run([programs / "python", *PIP, "hypothesis", "pandas", "polars", "pytest"], folder)
        try_sources(programs, source, folder)
        for target in map(Path, sys.argv[1:]):
            shutil.copytree(folder / "dist", target, dirs_exist_ok=True)


def environment(path: Path) -> Path:
    """Make an empty environment; return the folder of its programs."""
    venv.create(path, with_pip=True)
    return path / ("Scripts" if os.name == "nt" else "bin")


def try_wheel(programs: Path, folder: Path) -> None:
    shown = run([programs / "python", "-c", "import ordinate; print(ordinate.__file__)"], folder)
    assert folder.resolve() in Path(shown.strip()).resolve().parents, shown
    run([programs / "ordinate", "demo"], folder)
    answers = SOURCES / "tests" / "fixtures" / "plain.csv"
    run([programs / "ordinate", "fit", answers, "-o", "map", "-d", "1"], folder)
    for made in ("out/digits.png", "map/embedding.csv", "map/report.html", "map/run.json"):
        assert (folder / made).stat().st_size > 0, made


def try_sources(programs: Path, source: Path, folder: Path) -> None:
    """Run some tests that the source distribution holds, against what the wheel installed."""
    with tarfile.open(source) as archive:
        archive.extractall(folder, filter="data")
    unpacked = folder / source.name.removesuffix(".tar.gz")
    for needed in ("LICENSE", "CHANGELOG.md", "CITATION.cff", "Makefile", "docs/index.md"):
        assert (unpacked / needed).is_file(), needed
    tests = [f"tests/{name}.py" for name in TESTS]
    run([programs / "python", "-m", "pytest", "-q", *tests], unpacked)


def run(command: list, folder: Path) -> str:
    print(
        "$", *(Path(part).name if isinstance(part, Path) else part for part in command), flush=True
    )
    # The sources must not be on the path of what is tried.
    clean = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    command = [os.fspath(part) for part in command]
    done = subprocess.run(
        command, cwd=folder, env=clean, check=False, text=True, stdout=subprocess.PIPE
    )
    print(done.stdout, end="", flush=True)
    done.check_returncode()
    return done.stdout


if __name__ == "__main__":
    main()
