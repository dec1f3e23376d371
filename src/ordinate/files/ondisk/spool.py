"""Triplets that come in pieces, each over labels of its own, put into arrays over all labels."""

import os
from functools import cached_property
from pathlib import Path
from typing import BinaryIO

import numpy as np

from ordinate.data.labels import label_array
from ordinate.data.rows import bad_row
from ordinate.data.triplets import Triplets
from ordinate.files.ondisk.layout import COLUMNS
from ordinate.files.ondisk.unsorted import Numbers

ITSELF = 1 << 28  # numbers below this are their own ids; other labels are counted from here
PIECE = 1 << 16  # rows that are renumbered at a time
# Bytes that a label takes, about, besides its letters, and a number, as measured to the end of a
# conversion, where all are sorted and written.
LABEL, NUMBER = 800, 300
TYPES = {"rows": "<u4", **COLUMNS}


class Names:
    """Labels that are met one after the other, and get their places among all at the end."""

    def __init__(self) -> None:
        self._seen = np.zeros(0, bool)
        self._ids: dict = {}
        self._counted: set[int] = set()
        self.n_bytes = 0
        self.full = False  # from then on labels are only counted

    def number(self, labels: np.ndarray) -> np.ndarray:
        """Return the preliminary id of each label."""
        ids = np.zeros(len(labels), np.int64)
        itself = np.zeros(len(labels), bool)
        if labels.dtype.kind == "i":
            itself = (labels >= 0) & (labels < ITSELF)
            self.n_bytes += NUMBER * self._mark(labels[itself])
            ids[itself] = labels[itself]
        before = len(self._ids)
        others = labels[~itself].tolist()
        if self.full:
            self._count(others)
            return ids
        ids[~itself] = [ITSELF + self._ids.setdefault(k, len(self._ids)) for k in others]
        if len(self._ids) > before:
            new = list(self._ids)[before:]
            self.n_bytes += sum(LABEL + len(str(label)) for label in new)
        return ids

    def _count(self, labels: list) -> None:
        """Add what new labels would take, by a number of each that takes far less."""
        for label in labels:
            number = hash(label)
            if label not in self._ids and number not in self._counted:
                self._counted.add(number)
                self.n_bytes += LABEL + len(str(label))

    @property
    def n_counted(self) -> int:
        """How many labels were only counted."""
        return len(self._counted)

    def _mark(self, numbers: np.ndarray) -> int:
        """Take note of numbers, and return how many are new."""
        if len(numbers) and numbers.max() >= len(self._seen):
            grown = np.zeros(int(numbers.max()) + 1, bool)
            grown[: len(self._seen)] = self._seen
            self._seen = grown
        new = int((~self._seen[numbers]).sum())  # labels are given once each
        self._seen[numbers] = True
        return new

    def settle(self) -> np.ndarray:
        """Return all labels in order; :meth:`places` then turns ids into places among them."""
        numbers, others = np.flatnonzero(self._seen), list(self._ids)
        labels = label_array(sorted([*numbers.tolist(), *others])) if others else numbers
        place = {label: i for i, label in enumerate(labels.tolist())} if others else {}
        self._place_of_number = np.cumsum(self._seen) - 1
        if others:
            self._place_of_number[numbers] = [place[number] for number in numbers.tolist()]
        self._place_of_other = np.array([place[label] for label in others], np.int64)
        self.identical = not others and bool(self._seen.all())
        return labels

    def labels(self, ids: np.ndarray) -> list:
        """Return the labels of preliminary ids."""
        others = list(self._ids)
        return [i if i < ITSELF else others[i - ITSELF] for i in ids.tolist()]

    def places(self, ids: np.ndarray) -> np.ndarray:
        """Return the places, among all labels in order, of preliminary ids."""
        if not len(self._place_of_other):
            return self._place_of_number[ids]
        found = np.empty(ids.shape, np.int64)
        itself = ids < ITSELF
        found[itself] = self._place_of_number[ids[itself]]
        found[~itself] = self._place_of_other[ids[~itself] - ITSELF]
        return found


class Spool:
    """Takes pieces of a table one after the other, and writes them to arrays in a folder.

    Attributes
    ----------
    n_rows, n_bytes : int
        Rows that were taken, and bytes that were written.
    largest : int
        The largest id, of pieces without labels.
    labelled : bool
        The pieces have labels.
    full : bool
        Labels took too much memory, and are only counted.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._files: dict[str, BinaryIO] = {}
        self.clear()

    def clear(self) -> None:
        """Begin anew."""
        self.close()
        self._files = {}
        self.names, self.people, self.answers = Names(), Names(), Names()
        self.n_rows = self.n_bytes = self._n_answers = 0
        self.largest, self.labelled, self.full = -1, False, False
        vars(self).pop("items", None)

    def close(self) -> None:
        """Close the files."""
        for file in self._files.values():
            file.close()

    @property
    def label_bytes(self) -> int:
        """Memory that labels take, about."""
        return sum(names.n_bytes for names in (self.names, self.people, self.answers))

    def only_count(self) -> None:
        """Keep no further rows and labels, but count what the labels of all rows would take."""
        self.full = True
        for names in (self.names, self.people, self.answers):
            names.full = True

    @property
    def n_counted(self) -> int:
        """How many labels were only counted."""
        return sum(names.n_counted for names in (self.names, self.people, self.answers))

    def add(self, piece: Triplets, answer_names: list | None) -> None:
        """Take the rows of a piece; ``answer_names`` are what the file calls its answers."""
        self.n_rows += len(piece)
        columns = {"rows": self._ids(piece)}
        if piece.weight is not None:
            columns["weight"] = piece.weight
        if piece.answer is not None:
            columns["answer"] = self._answers(piece.answer, answer_names)
        if piece.participant is not None and piece.participant_labels is not None:
            columns["participant"] = self.people.number(piece.participant_labels)[piece.participant]
        for name, values in columns.items() if not self.full else ():
            if name not in self._files:
                self._files[name] = (self.folder / name).open("w+b")
            self.n_bytes += self._files[name].write(
                np.ascontiguousarray(values, TYPES[name]).data.cast("B")
            )

    def look_at(self, piece: Triplets) -> None:
        """Take note of rows that need not be written, since they lie in a file as they are."""
        self.n_rows += len(piece)
        self.largest = max(self.largest, int(piece.rows.max()))

    @cached_property
    def items(self) -> np.ndarray | None:
        """All labels in order; None where the pieces had ids."""
        return self.names.settle() if self.labelled else None

    def _ids(self, piece: Triplets) -> np.ndarray:
        if piece._items is None:
            self.largest = max(self.largest, int(piece.rows.max()))
            return piece.rows
        self.labelled = True
        return self.names.number(piece.items)[piece.rows]

    def _answers(self, answer: np.ndarray, names: list | None) -> np.ndarray:
        """Return numbers for answers: their own, those of their names, or counted on."""
        if names is None:
            counted = answer + self._n_answers
            self._n_answers += int(answer.max()) + 1
            return counted
        if all(isinstance(name, int) for name in names):
            return np.array(names, np.int64)[answer]
        return self.answers.number(label_array(names))[answer]

    def finish(self, *, as_ids: bool = False) -> dict[str, Numbers]:
        """Give every label its place among all, and return the arrays.

        ``as_ids`` leaves numbers as they are.
        """
        self.people_labels = self.people.settle() if "participant" in self._files else None
        self.answers.settle()
        if self.labelled and not self.names.identical and not as_ids:
            self._renumber("rows", self.names, 3)
        if self.people_labels is not None:
            self._renumber("participant", self.people)
        if self.answers.n_bytes:
            self._renumber("answer", self.answers)
        for file in self._files.values():
            file.flush()
            os.fsync(file.fileno())  # a disk may only now say that it is full
        self.close()
        return {
            name: Numbers(self.folder / name, np.dtype(TYPES[name]), 3 if name == "rows" else 1)
            for name in self._files
        }

    def _renumber(self, name: str, names: Names, width: int = 1) -> None:
        """Write places in the place of preliminary ids."""
        file, dtype = self._files[name], np.dtype(TYPES[name])
        file.flush()
        file.seek(0)
        while len(piece := np.frombuffer(file.read(PIECE * width * dtype.itemsize), dtype)):
            file.seek(-piece.nbytes, os.SEEK_CUR)
            file.write(names.places(piece).astype(dtype).data.cast("B"))
            file.flush()


def scan(
    array: Numbers, n_rows: int, n_items: int, names: Names | None = None
) -> tuple[np.ndarray, bool]:
    """Count the rows of each anchor, and tell whether the anchors never fall.

    ``names`` are those of preliminary ids, if numbers are to be ids themselves.
    """
    counts, last, ordered = np.zeros(n_items, np.int64), -1, True
    bad, n_bad = "", 0
    for start in range(0, n_rows, PIECE):
        rows = array.read(start, min(start + PIECE, n_rows))
        beyond = (rows >= n_items).any(axis=1)
        if beyond.any() and not n_bad:
            at = int(beyond.argmax())
            ids = rows[at].tolist() if names is None else names.labels(rows[at])
            bad = bad_row(start + at, ids, n_items)
        n_bad += int(beyond.sum())
        if n_bad:
            continue
        anchors = rows[:, 0].astype(np.int64)
        counts += np.bincount(anchors, minlength=n_items)
        ordered = ordered and bool(anchors[0] >= last and (anchors[1:] >= anchors[:-1]).all())
        last = int(anchors[-1])
    if n_bad:
        raise ValueError(f"{bad} ({n_bad:,} bad rows of {n_rows:,})")
    return counts, ordered
