"""What to say of a header that names most of a layout's columns, but not all."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from difflib import get_close_matches
from functools import lru_cache
from typing import NamedTuple

from ordinate.files.formats.cells import normal
from ordinate.files.formats.errors import Remedy
from ordinate.files.formats.names import OPTIONAL
from ordinate.files.formats.table import Roles
from ordinate.files.readers._layout import Layout, nameable

# Likeness that makes a name a slip of another: 'farr' and 'nera' are, 'bar' for 'far' is not.
CUTOFF = 0.7
# Among more names than this a slip is not looked for: many would do, and all are compared.
MOST_NAMES = 200


class Fit(NamedTuple):
    """The columns of a layout: by role those found and those nearly so; roles missing; the rest."""

    layout: str
    found: dict[str, str]
    close: dict[str, str]
    missing: list[str]
    optional: dict[str, str]
    spare: list[str]

    @property
    def quality(self) -> tuple[float, int]:
        """The share of columns that are there, slips included, and the number without them."""
        there = len(self.found) + len(self.close)
        return there / (len(self.found) + len(self.missing)), len(self.found)

    @property
    def plausible(self) -> bool:
        """Letters alone are labels as likely as names."""
        words = self.close or any(len(name) > 1 for name in self.found.values())
        return bool(self.found and words) and self.quality[0] > 0.5

    def describe(self) -> str:
        """Say what is there and what is missing."""
        have = ", ".join(map(repr, self.found.values()))
        slips = {role: f" (is it {name!r}?)" for role, name in self.close.items()}
        lacking = ", ".join(role + slips.get(role, "") for role in self.missing)
        verb = "is" if len(self.missing) == 1 else "are"
        left = "" if self.close or self.spare else ", and no column is left for it"
        fit = "fits" if len(self.found) == 1 else "fit"
        return f"{have} {fit} layout {self.layout}, but {lacking} {verb} missing{left}"

    def remedies(self) -> list[Remedy]:
        """Return columns= with the slips, or with each column that is left for the one missing."""
        unknown = [role for role in self.missing if role not in self.close]
        if len(unknown) > len(self.spare):
            return []
        if len(unknown) == 1:
            ways = [{unknown[0]: name} for name in self.spare[:4]]
        else:
            ways = [dict(zip(unknown, self.spare, strict=False))]
        when = "" if not unknown else f"if that is the {unknown[0]}"
        when = "or the like" if len(unknown) > 1 else when
        return [
            Remedy({"columns": {**self.found, **self.close, **way, **self.optional}}, when)
            for way in ways
        ]


def best_fits(header: Sequence[str], layouts: Iterable[Layout], given: Mapping) -> list[Fit]:
    """Return the layouts that most columns fit, those that fit best; often none.

    ``given`` has the columns that were named, by role: the layout must have these roles.
    """
    named = {role for role in given if role not in OPTIONAL}
    fits = [
        _fit(layout.name, roles, header)
        for layout in layouts
        for roles in layout.named
        if named <= {*nameable(roles)}
    ]
    fits = [fit for fit in fits if fit.missing and (fit.plausible or named)]
    best = max((fit.quality for fit in fits), default=None)
    first = {fit.layout: fit for fit in reversed(fits) if fit.quality == best}
    return [_original(fit, given) for fit in fits if first.get(fit.layout) is fit]


def _original(fit: Fit, given: Mapping) -> Fit:
    """Name columns as in the file, where columns= had called them by their roles."""
    found = {role: given.get(role, name) for role, name in fit.found.items()}
    optional = {role: given.get(role, name) for role, name in fit.optional.items()}
    return fit._replace(found=found, optional=optional)


@lru_cache(maxsize=4096)  # all blocks of a file ask the same
def _close(name: str, names: tuple[str, ...]) -> list[str]:
    return get_close_matches(name, names, 1, CUTOFF)


def _fit(layout: str, roles: Roles, header: Sequence[str]) -> Fit:
    left = {normal(name): name for name in header}

    def take(wanted: Roles, look: Callable[[str], list[str]]) -> dict[str, str]:
        taken = {}
        for role, names in wanted.items():
            seen = [own for name in names for own in look(name)]
            if seen:
                taken[role] = left.pop(seen[0])
        return taken

    def same(name: str) -> list[str]:
        return [name] if name in left else []

    def like(name: str) -> list[str]:
        return _close(name, tuple(left)) if len(left) <= MOST_NAMES else []

    found = take(roles, same)
    optional = take({role: names for role, names in OPTIONAL.items() if role not in roles}, same)
    missing = {role: names for role, names in roles.items() if role not in found}
    close = take(missing, like)
    return Fit(layout, found, close, list(missing), optional, list(left.values()))
