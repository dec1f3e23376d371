"""What the values of options say: pairs, columns, marks and names."""

import csv
import io

from ordinate.cli import _shell as shell


def pairs(
    option: str, text: str, example: str, *, may_be_empty: bool = False
) -> list[tuple[str, str]]:
    """Read ``a=b,c=d``; what holds a comma stands in double quotes, as in ``"a=b, c",d=e``."""
    found = []
    for part in next(csv.reader(io.StringIO(text, newline=""), skipinitialspace=True), []):
        left, sign, right = (piece.strip() for piece in part.partition("="))
        if not left or not (right or (sign and may_be_empty)):
            raise shell.CommandError(f"{option} {text!r}: write {example}", shell.WRONG_USE)
        found.append((left, right))
    return found


def columns(text: str | None) -> dict[str, str | int] | None:
    """Read ``anchor=head,near=winner``; whole numbers count columns from 0."""
    if text is None:
        return None
    example = "role=column pairs, as in anchor=head,near=winner,far=loser"
    found = pairs("--columns", text, example)
    return {role: int(name) if name.isdigit() else name for role, name in found}


def response(text: str | None) -> str | dict[str, str] | None:
    """Read ``f=first,j=second``, or ``item``."""
    if text is None or "=" not in text:
        return text
    return dict(pairs("--response", text, "code=place pairs, as in f=first,j=second, or item"))


def marks(option: str, text: str | None) -> dict[str, list[str]] | None:
    """Read ``trial_type=catch``, several values of a column too; none stands for empty cells."""
    if text is None:
        return None
    found: dict[str, list[str]] = {}
    example = "column=value pairs, as in trial_type=catch"
    for column, value in pairs(option, text, example, may_be_empty=True):
        found.setdefault(column, []).append(value)
    return found


def names(text: str | None) -> list[str]:
    """Read names separated by commas."""
    return [] if text is None else [name.strip() for name in text.split(",") if name.strip()]
