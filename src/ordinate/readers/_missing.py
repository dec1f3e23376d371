"""What to say of a header that names most of a layout's columns, but not all."""

from collections.abc import Callable, Iterable, Sequence
from difflib import get_close_matches
from typing import NamedTuple

from ordinate.readers._layout import OPTIONAL, ROLES, Layout
from ordinate.readers._table import Roles, normal

# Likeness that makes a name a slip of another: 'farr' and 'nera' are, 'bar' for 'far' is not.
CUTOFF = 0.7


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

    def describe(self, mapped: bool) -> str:
        """Say what is there, what is missing and what to do; columns= may have been given."""
        have = ", ".join(map(repr, self.found.values()))
        slips = {role: f" (is it {name!r}?)" for role, name in self.close.items()}
        lacking = ", ".join(role + slips.get(role, "") for role in self.missing)
        verb = "is" if len(self.missing) == 1 else "are"
        remedy = ": name it in columns= as well" if mapped else self._remedy()
        return f"{have} fit layout {self.layout}, but {lacking} {verb} missing{remedy}"

    def _remedy(self) -> str:
        if not self.close and not self.spare:
            return ", and no column is left for it"
        rename = f". Rename {'it' if self.close else f'one of {self.spare[:25]}'}"
        if not {*self.found, *self.missing} <= {*ROLES}:
            return rename
        columns = {
            **self.found,
            **dict.fromkeys(self.missing, ...),
            **self.close,
            **self.optional,
        }
        return f"{rename}, or say columns={columns}".replace("Ellipsis", "...")


def best_fits(header: Sequence[str], layouts: Iterable[Layout]) -> list[Fit]:
    """Return the layouts that most columns fit, those that fit best; often none."""
    fits = [_fit(layout.name, roles, header) for layout in layouts for roles in layout.named]
    fits = [fit for fit in fits if fit.missing and fit.plausible]
    best = max((fit.quality for fit in fits), default=None)
    return [fit for fit in fits if fit.quality == best]


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
        return get_close_matches(name, left, 1, CUTOFF)

    found = take(roles, same)
    optional = take({role: names for role, names in OPTIONAL.items() if role not in roles}, same)
    missing = {role: names for role, names in roles.items() if role not in found}
    close = take(missing, like)
    return Fit(layout, found, close, list(missing), optional, list(left.values()))
