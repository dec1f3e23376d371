"""What the fast layout says about itself, in about.json or in the metadata of a Parquet file.

The text is JSON. Its last entry is a checksum of all that stands before it, so that a changed
label or number is noticed like a changed row.
"""

import json
import zlib
from collections.abc import Callable
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

NAME, VERSION = "ordinate triplets", 2
NAME_1 = "ordinate triplets grouped by anchor, 1"  # which had no checksum of its own
SEAL = b', "checksum": '
ORDERS = ("anchor", "answer")  # of the rows: what they are sorted by
ID_TYPES = ("|u1", "<u2", "<u4")
COLUMNS = {"weight": "<f8", "answer": "<i8", "participant": "<i4"}  # that may go with the rows
STARTS = "<i8"
LABELS = {str, int, float, bool}  # kinds of labels that JSON gives back as they were
HEADER = 128  # bytes of a .npy file before its data


class About(NamedTuple):
    """Description of triplets in the fast layout.

    Attributes
    ----------
    n_items, n_rows : int
    labels : list or None
        Of the items; None where they are ids.
    participants : list or None
        Labels of those to whom the column ``participant`` refers.
    types : dict of str to str
        The pairs, and each column that goes with the rows: how its numbers are stored.
    bounds : list of int
        Rows where stretches begin, and the number of rows.
    checksums : dict of tuple of str to list of int
        CRC-32 of each stretch of some arrays, one after the other; ``("starts",)`` has one.
    order : {"anchor", "answer"}
    version : int
    """

    n_items: int
    n_rows: int
    labels: list | None
    participants: list | None
    types: dict[str, str]
    bounds: list[int]
    checksums: dict[tuple[str, ...], list[int]]
    order: str = "anchor"
    version: int = VERSION

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the columns that go with the rows."""
        return tuple(name for name in COLUMNS if name in self.types)

    def shape(self, name: str, n_rows: int) -> tuple[int, ...]:
        """Shape of so many rows of an array."""
        return (n_rows, 2) if name == "pairs" else (n_rows,)

    def text(self) -> bytes:
        """Return the description as it is stored, with its checksum."""
        stored = self._asdict() | {
            "checksums": {" ".join(names): sums for names, sums in self.checksums.items()}
        }
        layout = {"layout": NAME} | {name: stored.pop(name) for name in ("version", "order")}
        text = json.dumps(layout | stored)
        return sealed(text.encode().removesuffix(b"}"))


def sealed(text: bytes) -> bytes:
    """Close a JSON object with a checksum of what it holds."""
    return text + SEAL + b"%d}" % zlib.crc32(text)


def described(text: bytes, **known_otherwise: Any) -> About:
    """Read a description, or raise ValueError if it is damaged or not known.

    ``known_otherwise`` is what layout 1 leaves to the Parquet file itself.
    """
    try:
        known = json.loads(text)
    except (ValueError, RecursionError):
        known = None
    if isinstance(known, dict) and known.get("layout") == NAME_1:
        return _checked(_of_layout_1(known_otherwise | known))
    if text != sealed(text.rpartition(SEAL)[0]) or not isinstance(known, dict):
        raise ValueError("its description is not what ordinate wrote: it was damaged or edited")
    layout = [known.get(name) for name in ("layout", "version", "order")]
    if layout[:2] != [NAME, VERSION] or layout[2] not in ORDERS:
        raise ValueError(
            f"it is in layout {layout[1]!r}, ordered by {layout[2]!r}, and this version knows "
            f"layouts 1 and {VERSION}, ordered by {' or '.join(map(repr, ORDERS))}: install a "
            "newer ordinate"
        )
    found = {name: _field(known, name, *kinds) for name, kinds in KINDS.items()}
    found["checksums"] = {tuple(key.split()): sums for key, sums in found["checksums"].items()}
    return _checked(About(**found, order=layout[2]))


KINDS: dict[str, tuple[type, ...]] = {
    "n_items": (int,),
    "n_rows": (int,),
    "labels": (list, type(None)),
    "participants": (list, type(None)),
    "types": (dict,),
    "bounds": (list,),
    "checksums": (dict,),
}


def _of_layout_1(known: dict) -> About:
    """One checksum of pairs and weights together, none in Parquet; no answers or participants."""
    types = {"pairs": _field(known, "dtype", str)}
    if _field(known, "weighted", bool):
        types["weight"] = COLUMNS["weight"]
    checksums = {}
    if _field(known, "checksums", list, type(None)) is not None:
        checksums = {
            tuple(types): known["checksums"],
            ("starts",): [_field(known, "starts_checksum", int)],
        }
    return About(
        _field(known, "n_items", int),
        _field(known, "n_rows", int),
        _field(known, "labels", list, type(None)),
        None,
        types,
        _field(known, "bounds", list),
        checksums,
        version=1,
    )


def _field(known: dict, name: str, *kinds: type) -> Any:
    if name not in known:
        raise ValueError(f"its description lacks {name!r}")
    if type(known[name]) not in kinds:
        raise ValueError(f"its description has {name!r} as {type(known[name]).__name__}")
    return known[name]


def _checked(about: About) -> About:
    for name, fits in CHECKS.items():
        if not fits(about):
            raise ValueError(f"its description says of {name!r} what cannot be")
    return about


def _types_fit(about: About) -> bool:
    allowed = {"pairs": ID_TYPES} | {name: (kind,) for name, kind in COLUMNS.items()}
    needed = {"pairs"}
    if about.order == "answer":
        allowed["anchor"] = (about.types.get("pairs", ""),)
        needed |= {"anchor", "answer"}
    known = all(kind in allowed.get(name, ()) for name, kind in about.types.items())
    return known and needed <= about.types.keys()


def _bounds_fit(about: About) -> bool:
    bounds = about.bounds
    whole = bool(bounds) and all(type(bound) is int for bound in bounds)
    increasing = whole and all(low < high for low, high in pairwise(bounds))
    return increasing and (bounds[0], bounds[-1]) == (0, about.n_rows)


def _checksums_fit(about: About) -> bool:
    lengths = {name: len(about.bounds) - 1 for name in about.types} | {"starts": 1}
    covered = sorted(name for names in about.checksums for name in names)
    return (about.version == 1 and not covered) or (
        covered == sorted(lengths)
        and all(
            isinstance(sums, list)
            and len(sums) == lengths[names[0]]
            and all(type(crc) is int for crc in sums)
            for names, sums in about.checksums.items()
        )
    )


def _labels_fit(labels: list | None, n: int) -> bool:
    """Whether labels are as many as there should be, of kinds that JSON has, and all different."""
    return labels is None or (
        len(labels) == n and {type(label) for label in labels} <= LABELS and len(set(labels)) == n
    )


CHECKS: dict[str, Callable[[About], bool]] = {
    "n_items": lambda about: about.n_items >= 3,
    "n_rows": lambda about: about.n_rows >= 0,
    "labels": lambda about: _labels_fit(about.labels, about.n_items),
    "types": _types_fit,
    "participants": lambda about: (
        (about.participants is None) == ("participant" not in about.types)
        and _labels_fit(about.participants, len(about.participants or []))
    ),
    "bounds": _bounds_fit,
    "checksums": _checksums_fit,
}


def npy_header(shape: tuple[int, ...], dtype: str) -> bytes:
    """Return the header of a .npy file, always of the same length."""
    text = str({"descr": dtype, "fortran_order": False, "shape": shape})
    magic = np.lib.format.magic(1, 0) + (HEADER - 10).to_bytes(2, "little")
    return magic + text.ljust(HEADER - 11).encode() + b"\n"


def checksum(*arrays: np.ndarray) -> int:
    """CRC-32 of several arrays, one after the other."""
    crc = 0
    for array in arrays:
        crc = zlib.crc32(np.ascontiguousarray(array).data, crc)
    return crc
