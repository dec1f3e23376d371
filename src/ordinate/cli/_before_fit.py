"""What ``fit`` makes sure of, and begins, before it reads anything."""

import re
from pathlib import Path
from typing import Any, NamedTuple

from ordinate.cli import _shell as shell
from ordinate.cli.data import refuse_file


class Target(NamedTuple):
    """Where results go, and what the answers are called."""

    folder: Path
    name: str


def find_target(file: Path, output: Path | None, force: bool) -> Target:
    """Find a folder for the results before anything is read, and refuse one that is taken."""
    from ordinate._base.endings import stem
    from ordinate._base.writing import check_replaceable
    from ordinate.files.formats.files import is_pipe, path_in_words

    if is_pipe(file) and output is None:
        raise shell.CommandError(
            f"what comes through {path_in_words(file)} has no name to give to the results: "
            "say where they go with --output",
            shell.WRONG_USE,
        )
    named = file if file.name not in ("", "..") else file.resolve()
    folder = named.with_name(f"{stem(named.name)}-map") if output is None else output
    if file.exists() and folder.exists() and file.resolve().is_relative_to(folder.resolve()):
        raise shell.CommandError(f"{folder} holds the input: name another", shell.UNWRITABLE)
    refuse_file(folder)
    check_replaceable(folder, force)
    return Target(folder, path_in_words(file) if is_pipe(file) else named.name)


def check_method(method: str) -> None:
    """Refuse what is no method before anything is read, or loaded."""
    from ordinate.estimators.catalogue import NAMES

    if method not in NAMES:
        raise shell.CommandError(
            f"--method must be one of {', '.join(NAMES)}; got {method}", shell.WRONG_USE
        )


def check_device(device: str | None) -> None:
    """Refuse what is no device before anything is read."""
    if device is not None and not re.fullmatch(r"cpu|auto|cuda(:\d+)?", device):
        raise shell.CommandError(
            f"--device must be cpu, cuda, cuda:<number> or auto; got {device}", shell.WRONG_USE
        )


def check_ellipses(ellipses: bool | None, choice: Any) -> None:
    """Refuse ellipses of a method that cannot tell how sure its map is, before it is fitted."""
    if ellipses and not hasattr(type(choice.estimator), "covariance_"):
        raise shell.CommandError(
            f"--ellipses: method {choice.name} cannot tell how sure its map is; leave that out, or "
            "take a method with probabilities, such as ste (in Python, ordinate.bootstrap tells "
            "it of any method)",
            shell.WRONG_USE,
        )


def begin_compiling(method: str, noise: str | None, device: str | None, quiet: bool) -> Any:
    """Begin to compile what the method needs, while the file is read."""
    from ordinate.kernels.backends.compiling import CompilingBeside

    loss = {"auto": "power" if noise is None else "ste", "ordinal": "power"}.get(method, method)
    if loss == "ste" and noise == "thurstone":
        loss = "probit"
    with shell.warnings_as_notes(quiet):
        return CompilingBeside(loss if device in (None, "cpu") else "")


def read_dimensions(text: str) -> int | str | list[int]:
    """Read a number of dimensions; or several, as 1-6 or 2,3,5 or auto, to choose among."""
    if text == "auto":
        return text
    found: list[int] = []
    for part in text.split(","):
        match = re.fullmatch(r"\s*(\d{1,4})\s*(?:-\s*(\d{1,4})\s*)?", part)
        low, high = (int(match[1]), int(match[2] or match[1])) if match else (0, 0)
        if not 1 <= low <= high:
            raise shell.CommandError(
                f"--dimensions must be a number from 1, or several to choose among, as 1-6 or "
                f"2,3,5, or auto, which is 1-6; got {text}",
                shell.WRONG_USE,
            )
        found += range(low, high + 1)
    return found[0] if text.strip().isdigit() else found
