"""The table of triplets: rows ``(anchor, near, far)``, each saying near is closer to anchor."""

from collections.abc import Hashable, Iterable, Mapping
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from ordinate._base.checks import check_choice, check_length, check_responses, check_weights
from ordinate._base.messages import Either, Message, Option
from ordinate.data.columns import (
    COLUMNS,
    EXTRAS,
    SOURCES,
    is_table,
    joined,
    of_frame,
    source_codes,
    source_words,
)
from ordinate.data.folds import shuffled_folds
from ordinate.data.labels import encode, label_array
from ordinate.data.numbering import distinct, numbered
from ordinate.data.rows import check_rows, group_by_anchor, read_only
from ordinate.data.summary import Agreement, Asked, Summary, agreement, questions, summarise
from ordinate.kernels import backends


class Origin:
    """The table that rows were taken from; tables made apart have different ones.

    Attributes
    ----------
    cut_told : bool
        Its answers were cut in two by a split, and that has been told.
    """

    cut_told = False


class Triplets:
    """Answers as rows ``(anchor, near, far)``: near is closer to anchor than far is.

    Parameters
    ----------
    rows : array-like of int, shape (m, 3)
        Item ids from 0. Integer arrays of 32 bits are used as they are, without a copy.
    items : iterable of hashable, optional
        The name of each item, in the order of the ids. Items that occur in no row keep their place.
    n_items : int, optional
        The number of items. By default that of the labels, or the largest id plus one.
    answer : array-like of int, shape (m,), optional
        Which human answer a row came from; rows of one answer are never split apart.
    participant : array-like, shape (m,), optional
        Who answered, as any hashable names.
    weight : array-like, shape (m,), optional
        How many times a row was observed. The scale of weights changes a map only through the
        ridge: `regularization` of methods that descend, and LOE's, which is there by default.
    source : array-like of str, shape (m,), optional
        Why each question was asked: "random", "active" (chosen by a map, see
        :mod:`ordinate.asking`), "repeat" or "check"; "" where that is not known. Accuracies on
        questions drawn at random and on chosen ones are then told apart.

    Attributes
    ----------
    rows : ndarray of int32, shape (m, 3), read-only
    items : ndarray, shape (n_items,)
    answer : ndarray of int64, shape (m,), or None
    participant : ndarray of int32, shape (m,), or None
        Indices into `participant_labels`.
    participant_labels : ndarray or None
    weight : ndarray of float64, shape (m,), or None
    source : ndarray of int8, shape (m,), or None
        Places among the words above; -1 where unknown.

    Examples
    --------
    >>> from ordinate import Triplets
    >>> triplets = Triplets([[0, 1, 2], [2, 1, 0]], items=["ant", "bee", "cat"])
    >>> triplets
    Triplets(2 rows, 3 items)
    >>> triplets.items[triplets.rows[0]].tolist()
    ['ant', 'bee', 'cat']
    """

    _starts: np.ndarray | None = None  # where each anchor starts, of a table that was grouped

    def __init__(
        self,
        rows: Any,
        *,
        items: Iterable[Hashable] | None = None,
        n_items: int | None = None,
        answer: Any = None,
        participant: Any = None,
        weight: Any = None,
        source: Any = None,
    ) -> None:
        self._items = None if items is None else label_array(items)
        if self._items is not None:
            if n_items is not None and n_items != len(self._items):
                raise ValueError(f"n_items is {n_items}, but {len(self._items)} items are named")
            n_items = len(self._items)
        self.rows, self.n_items, self._in_order = check_rows(rows, n_items)
        self._counted = n_items is not None
        self.answer = None if answer is None else self._numbered(answer)
        self.participant = self.participant_labels = None
        if participant is not None:
            self.participant, self.participant_labels = self._codes("participant", participant)
        if weight is not None:
            weight = check_weights(check_length("weight", weight, len(self)))
        self.weight: np.ndarray | None = weight
        self.source = None if source is None else self._sources(source)
        self._origin = Origin()
        self._places: np.ndarray | None = None  # of the rows in the origin, if not all in order

    @classmethod
    def from_columns(
        cls,
        anchor: Any,
        near: Any,
        far: Any,
        *,
        items: Iterable[Hashable] | None = None,
        **columns: Any,
    ) -> "Triplets":
        """Build from three columns of labels: strings, numbers, any hashable values.

        Parameters
        ----------
        anchor, near, far : sequence of hashable, shape (m,)
        items : iterable of hashable, optional
            All labels in the order of their ids. By default the labels that occur, sorted.
        **columns
            ``n_items``, ``answer``, ``participant``, ``weight`` and ``source``, as in the
            constructor.

        Examples
        --------
        >>> Triplets.from_columns(["cat", "cat"], ["lynx", "dog"], ["dog", "fish"]).items.tolist()
        ['cat', 'dog', 'fish', 'lynx']
        """
        codes, all_labels = encode({"anchor": anchor, "near": near, "far": far}, items)
        return cls(codes, items=all_labels, **columns)

    @classmethod
    def from_frame(
        cls,
        frame: Any,
        *,
        items: Iterable[Hashable] | None = None,
        n_items: int | None = None,
    ) -> "Triplets":
        """Build from a pandas or polars DataFrame or an Arrow table.

        Columns ``anchor``, ``near``, ``far`` hold labels; ``answer``, ``participant``,
        ``weight`` and ``source`` are taken where present. Integers are labels too, unless
        `n_items` is given: then they are ids ``0..n_items-1``.
        """
        return cls(**of_frame(frame, items, n_items))

    @classmethod
    def concatenate(cls, tables: "Iterable[Triplets]") -> "Triplets":
        """Put tables over the same items one after the other.

        Answers of different tables stay apart, participants of the same name are the same. Where
        one table has answers, participants or weights, all must; rows without weights count once.

        Examples
        --------
        >>> first, second = Triplets([[0, 1, 2]], n_items=4), Triplets([[3, 1, 2]], n_items=4)
        >>> Triplets.concatenate([first, second])
        Triplets(2 rows, 4 items)
        """
        return cls(**joined(list(tables)))

    @property
    def items(self) -> np.ndarray:
        """The name of each item; the ids themselves where no labels were given."""
        return np.arange(self.n_items) if self._items is None else self._items

    @property
    def example(self) -> str:
        """The first row in words: held against the source, it shows whether near is near."""
        if not len(self):
            return ""
        anchor, near, far = self.items[self.rows[0]].tolist()
        return f"{near} is closer to {anchor} than {far} is"

    @property
    def shape(self) -> tuple[int, int]:
        """Shape of the rows, for scikit-learn's splitters."""
        return self.rows.shape

    def __len__(self) -> int:
        return len(self.rows)

    def __repr__(self) -> str:
        parts = [f"{len(self):,} rows", f"{self.n_items:,} items"]
        if self.answer is not None:
            parts.append(f"{len(distinct(self.answer)):,} answers")
        if self.participant is not None:
            parts.append(f"{len(distinct(self.participant)):,} participants")
        return f"Triplets({', '.join(parts)})"

    def __getstate__(self) -> dict[str, Any]:
        """Return what is pickled: all but what can be found again."""
        found = ("_asked", "_agreement", "_summary")
        return {name: value for name, value in vars(self).items() if name not in found}

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        array = self.rows if dtype is None else self.rows.astype(dtype, copy=False)
        return array.copy() if copy else array

    def __getitem__(self, key: Any) -> "Triplets":
        """Take rows by a slice, a mask or indices; items, labels and columns stay."""
        if isinstance(key, tuple) and len(key) == 2 and key[1] is Ellipsis:
            key = key[0]  # how scikit-learn takes rows
        if isinstance(key, (int, np.integer)):
            key = [key]
        rows = self.rows[key]
        if rows.ndim != 2 or rows.shape[1] != 3:
            raise IndexError("Triplets are indexed by rows: a slice, a mask or an array of indices")
        if len(rows) == 0:
            raise IndexError("no row is left: the slice, mask or index array is empty")
        # A slice or a mask leaves the order as it is; of indices it is not known.
        forward = isinstance(key, slice) and (key.step is None or key.step > 0)
        in_order = self._in_order and (forward or np.asarray(key).dtype == bool)
        taken = self._with(
            rows, {name: column[key] for name, column in self._extras.items()}, in_order
        )
        if self.answer is not None:
            places = np.arange(len(self)) if self._places is None else self._places
            taken._origin, taken._places = self._origin, places[key]
        return taken

    def answered(self, y: Any) -> "Triplets":
        """Read the rows as questions, and say how each was answered.

        Parameters
        ----------
        y : array-like of +1 and -1, or of bool, shape (m,)
            +1 or True: the row says what was answered. -1 or False: its last item was called
            nearer, so near and far change places.

        Returns
        -------
        Triplets
            Over the same items, with the same answers, participants and weights.

        Examples
        --------
        >>> Triplets([[0, 1, 2], [0, 1, 2]]).answered([1, -1]).rows.tolist()
        [[0, 1, 2], [0, 2, 1]]
        """
        as_it_stands = check_responses(y, len(self))
        if as_it_stands.all():
            return self
        rows = np.where(as_it_stands[:, None], self.rows, self.rows[:, [0, 2, 1]])
        return self._with(rows, self._extras, self._in_order)

    def weighed(self, weight: Any) -> "Triplets":
        """Return the same rows with other weights.

        Parameters
        ----------
        weight : array-like, shape (m,)

        Examples
        --------
        >>> Triplets([[0, 1, 2], [0, 2, 1]]).weighed([3, 1]).weight.tolist()
        [3.0, 1.0]
        """
        given = check_weights(check_length("weight", weight, len(self)))
        return self._with(self.rows, {**self._extras, "weight": given}, self._in_order)

    def to_arrow(self) -> Any:
        """Return a pyarrow Table with labels in the columns anchor, near, far, and the extras.

        Examples
        --------
        >>> Triplets([[0, 1, 2]], items=["ant", "bee", "cat"]).to_arrow().to_pylist()
        [{'anchor': 'ant', 'near': 'bee', 'far': 'cat'}]
        """
        import pyarrow as pa

        labels = self.items[self.rows].T if self._items is not None else self.rows.T
        columns = dict(zip(COLUMNS, labels, strict=True)) | self._extras
        if self.participant is not None and self.participant_labels is not None:
            columns["participant"] = self.participant_labels[self.participant]
        if self.source is not None:
            columns["source"] = source_words(self.source)
        return pa.table(columns)

    def groups(self, by: str = "answer") -> np.ndarray:
        """Number the groups that splits keep together.

        Parameters
        ----------
        by : {"answer", "participant", "row"}
            Where no answers are known, each row is an answer of its own.

        Returns
        -------
        ndarray of int64, shape (m,)
            Group of each row, ``0..n_groups-1``.
        """
        check_choice("by", by, ("answer", "participant", "row"))
        column = {"answer": self.answer, "participant": self.participant, "row": None}[by]
        if column is not None:
            return numbered(column)
        if by == "participant":
            raise ValueError(
                Message(
                    Option("by", "participant"),
                    " needs triplets that say who answered, and these do not: name the column "
                    "that does, as in ",
                    Either(
                        "participant=... of Triplets, or columns={'participant': ...} of a file",
                        "--columns participant=...",
                    ),
                )
            )
        return np.arange(len(self))

    def split(
        self, test_size: float = 0.2, *, by: str = "answer", random_state: Any = None
    ) -> tuple["Triplets", "Triplets"]:
        """Split into a training and a test part, at random, never through a group.

        Parameters
        ----------
        test_size : float
            Share of the rows in the test part, between 0 and 1; met as closely as the groups allow.
        by : {"answer", "participant", "row"}
            What stays together.
        random_state : int, Generator or None

        Returns
        -------
        train, test : Triplets
        """
        if not 0 < test_size < 1:
            raise ValueError(f"test_size must lie between 0 and 1; got {test_size!r}")
        fold = shuffled_folds(self.groups(by), np.array([test_size, 1 - test_size]), random_state)
        return self[fold == 1], self[fold == 0]

    def summarise(self) -> Summary:
        """Report what the data hold and what is odd about them, without failing.

        Examples
        --------
        >>> print(Triplets([[0, 1, 2], [0, 2, 1], [1, 0, 2]]).summarise())  # doctest: +ELLIPSIS
        triplets                    3
        items                       3
        ...
        """
        return self._summary

    @cached_property
    def _summary(self) -> Summary:
        return summarise(self)

    @cached_property
    def _asked(self) -> Asked:
        """The question of each row, and how it was answered; numbered once."""
        return questions(self.rows, self.n_items)

    @cached_property
    def _agreement(self) -> Agreement:
        """How often two answers to one question agree."""
        return agreement(self._asked, self.weight, self.answer)

    def grouped(self, *, backend: str = "auto") -> "Grouped":
        """Bring the rows of each anchor together, in time linear in the rows.

        Examples
        --------
        >>> triplets, starts = Triplets([[2, 0, 1], [0, 1, 2], [2, 1, 0]]).grouped()
        >>> triplets.rows[starts[2] : starts[3]].tolist()
        [[2, 0, 1], [2, 1, 0]]
        """
        if self._starts is not None:
            return Grouped(self, self._starts)
        rows, starts, columns = group_by_anchor(
            self.rows,
            self.n_items,
            backends.load(backend),
            tuple(self._extras.values()),
            in_order=self._in_order,
        )
        grouped = self._with(rows, dict(zip(self._extras, columns, strict=True)), in_order=True)
        grouped._starts = starts
        return Grouped(grouped, starts)

    @property
    def _weights(self) -> np.ndarray:
        """The weight of each row, 1 where none is known."""
        return np.ones(len(self)) if self.weight is None else self.weight

    @property
    def _extras(self) -> dict[str, np.ndarray]:
        """What goes with the rows, by name: each an array (m,)."""
        known = {name: getattr(self, name) for name in EXTRAS}
        return {name: column for name, column in known.items() if column is not None}

    def _with(
        self, rows: np.ndarray, extras: Mapping[str, np.ndarray], in_order: bool
    ) -> "Triplets":
        """Return a table of other rows over the same items; rows are known to be sound."""
        new = object.__new__(Triplets)
        new.rows, new.n_items = read_only(np.ascontiguousarray(rows)), self.n_items
        new._items, new._counted = self._items, self._counted
        new._in_order = in_order
        for name in EXTRAS:
            setattr(new, name, extras.get(name))
        new.participant_labels = self.participant_labels
        new._origin, new._places = Origin(), None
        return new

    def _numbered(self, answer: Any) -> np.ndarray:
        """Number the answers from 0; integers, of which there may be many, without naming them."""
        if isinstance(answer, np.ndarray) and answer.dtype.kind in "iu":
            check_length("answer", answer, len(self))
            return numbered(answer)
        return self._codes("answer", answer)[0].astype(np.int64)

    def _sources(self, source: Any) -> np.ndarray:
        codes = source_codes(source)
        if codes is None:
            raise ValueError(f"source must be one of {', '.join(SOURCES)} or empty in every row")
        return check_length("source", codes, len(self))

    def _codes(self, name: str, values: Any) -> tuple[np.ndarray, np.ndarray]:
        codes, names = encode({name: values})
        check_length(name, codes[:, 0], len(self))
        return codes[:, 0], names


class Grouped(NamedTuple):
    """Triplets in order of their anchors; those of anchor i are rows starts[i] to starts[i + 1]."""

    triplets: Triplets
    starts: np.ndarray


def table_of(data: Any, *, n_items: int | None = None) -> Triplets:
    """Take triplets in any form that lies in memory: as such, a table with names, or an array."""
    if isinstance(data, Triplets):
        if n_items not in (None, data.n_items):
            raise ValueError(f"n_items is {n_items}, but the triplets have {data.n_items} items")
        return data
    if is_table(data):
        return Triplets.from_frame(data, n_items=n_items)
    return Triplets(data, n_items=n_items)
