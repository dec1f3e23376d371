"""Build the wheel, install it alone in an empty environment, and use it away from the sources."""

import os
import subprocess
import sys
import tempfile
import venv
from pathlib import Path

SOURCES = Path(__file__).parents[1]
ANSWERS = SOURCES / "tests" / "fixtures" / "plain.csv"


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--quiet"]
        run([*pip, "wheel", "--no-deps", "--wheel-dir", folder, SOURCES], folder)
        (wheel,) = folder.glob("*.whl")
        venv.create(folder / "env", with_pip=True)
        programs = folder / "env" / ("Scripts" if os.name == "nt" else "bin")
        run([programs / "python", *pip[1:], "install", wheel], folder)
        shown = run(
            [programs / "python", "-c", "import ordinate; print(ordinate.__file__)"], folder
        )
        assert folder.resolve() in Path(shown.strip()).resolve().parents, shown
        run([programs / "ordinate", "demo"], folder)
        run([programs / "ordinate", "fit", ANSWERS, "-o", "map", "-d", "1"], folder)
        for made in ("out/digits.png", "map/embedding.csv", "map/report.html", "map/run.json"):
            assert (folder / made).stat().st_size > 0, made


def run(command: list, folder: Path) -> str:
    print(
        "$", *(Path(part).name if isinstance(part, Path) else part for part in command), flush=True
    )
    # The sources must not be on the path of what is tried.
    clean = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    command = [os.fspath(part) for part in command]
    done = subprocess.run(
        command, cwd=folder, env=clean, check=True, text=True, stdout=subprocess.PIPE
    )
    print(done.stdout, end="", flush=True)
    return done.stdout


if __name__ == "__main__":
    main()
