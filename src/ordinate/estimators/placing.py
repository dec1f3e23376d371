"""What fitted estimators do with answers that come later: new items, and more answers."""

import warnings
from abc import abstractmethod
from copy import copy
from typing import Any, NamedTuple

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ordinate._base.messages import counted, some
from ordinate._base.threads import single_threaded_blas
from ordinate.algorithms.placing_new import NewPlaces, place_new
from ordinate.data.columns import source_words
from ordinate.data.labels import alike, groups_in_words
from ordinate.data.triplets import Triplets
from ordinate.estimators.base import Embedder
from ordinate.files.inputs import answered, beyond_labels
from ordinate.kernels.losses import Loss

GROWN = 1.5  # times as many triplets as at the last fit from scratch, and there is another


class Placed(NamedTuple):
    """Places of new items on a map: what :meth:`PlacingEmbedder.place` returns.

    Attributes
    ----------
    items : ndarray, shape (k,)
        Labels of the new items, in the order in which the answers first name them.
    points : ndarray, shape (k, d)
        NaN for items that no answer relates to the map.
    covariance : ndarray, shape (k, d, d)
        Of each place, the map itself taken to be exact; NaN where the loss is no likelihood.
    n_triplets : ndarray of int, shape (k,)
        How many triplets name each item.
    weak : ndarray of bool, shape (k,)
        The answers tell less about an item, in some direction, than the extent of the map does:
        they are too few, or set no limit. The extent then helped to place it.
    """

    items: np.ndarray
    points: np.ndarray
    covariance: np.ndarray
    n_triplets: np.ndarray
    weak: np.ndarray

    @property
    def standard_errors(self) -> np.ndarray:
        """Square roots of the covariances' diagonals (k, d)."""
        return np.sqrt(np.diagonal(self.covariance, axis1=1, axis2=2))


class MadeBy(NamedTuple):
    """The loss and the ridge that made a map, and what the map was multiplied by then."""

    loss: Loss
    regularization: float = 0.0
    scale: float = 1.0


class PlacingEmbedder(Embedder):
    """Those that place new items on a fitted map, and take more answers."""

    backend: str

    @abstractmethod
    def _made_by(self) -> MadeBy:
        """Return what made the map."""

    @abstractmethod
    def _continue(self, triplets: Triplets, start: np.ndarray, afresh: bool) -> None:
        """Fit all triplets from a map (n, d) that is nearly right, NaN for items without a place.

        If ``afresh``, triplets have become so many more that what the first of them decided, such
        as the start that won, is to be decided again. `_prepare` has been called.
        """

    def place(self, X: Any, y: Any = None) -> Placed:
        """Place items that were not in the fit, from answers about them; the map stays as it is.

        Each new item is put where the fit would have put it, had the others not moved: where the
        answers about it, and the ridge if the fit has one, cost least. New items that answers
        relate to each other are placed together. For STE, and for GNMDS, the cost is convex in the
        place of an item that is the anchor of all its answers, and the place is exact; otherwise
        the best of several starts is taken.

        Parameters
        ----------
        X : triplets in any form
            Rows ``(anchor, near, far)``. Items are new if they have no place on the map. What has
            no labels of its own holds ids, new ones from ``len(model.items_)`` on.
        y : array-like of +1 and -1, or of bool, shape (m,), optional
            How the rows were answered, as in `fit`.

        Returns
        -------
        Placed
            Labels, coordinates, covariances and more, one of each for every new item. Empty if all
            items are known.

        Warns
        -----
        UserWarning
            Of items about which the answers tell little, of those that no answer relates to the
            map, and of new labels that differ from known ones in trifles alone.

        Examples
        --------
        >>> from ordinate import STE, Triplets, sample_points, sample_triplets
        >>> triplets = sample_triplets(sample_points(31, random_state=0), 20_000, random_state=0)
        >>> about_it = (triplets.rows == 30).any(axis=1)
        >>> model = STE(random_state=0).fit(Triplets(triplets.rows[~about_it]))
        >>> placed = model.place(triplets[about_it])
        >>> placed.items, placed.points.shape, placed.covariance.shape
        (array([30]), (1, 2), (1, 2, 2))
        """
        check_is_fitted(self, "embedding_")
        triplets = answered(X, beyond_labels(X, self.items_).triplets, y)
        return self._place(triplets, stacklevel=3)

    def transform(self, X: Any) -> Any:
        """Return the place of each item that the triplets are about: new ones are placed.

        Items of the fit keep their place, so that ``model.fit(X).transform(X)`` is
        ``model.fit_transform(X)``. New ones are placed as :meth:`place` does, which also
        returns covariances, and new items alone.

        Parameters
        ----------
        X : triplets in any form
            Rows ``(anchor, near, far)``.

        Returns
        -------
        ndarray or frame, shape (k, n_components)
            A row for each item of X, in the order of ``ordinate.as_triplets(X).items``, which is
            also the index of a frame of pandas; see `fit_transform`. Where X has no labels but
            ids, row i is item i, and all items of the fit have one. Items without a place are NaN.

        Examples
        --------
        >>> from ordinate import STE, sample_points, sample_triplets
        >>> rows = sample_triplets(sample_points(31, random_state=0), 20_000, random_state=0).rows
        >>> about_it = (rows == 30).any(axis=1)
        >>> model = STE(random_state=0).fit(rows[~about_it])
        >>> bool((model.transform(rows[~about_it]) == model.embedding_).all())
        True
        >>> model.transform(rows[about_it]).shape
        (31, 2)
        """
        check_is_fitted(self, "embedding_")
        triplets, labels, rows = beyond_labels(X, self.items_)
        points = np.full((triplets.n_items, self.embedding_.shape[1]), np.nan)
        points[: len(self.embedding_)] = self.embedding_
        placed = self._place(triplets, stacklevel=4)  # scikit-learn wraps this
        points[self._new(triplets)] = placed.points
        return self._framed(np.where(rows[:, None] >= 0, points[rows], np.nan), labels)

    def _new(self, triplets: Triplets) -> np.ndarray:
        """Ids of items that rows name and that have no place, as they first occur."""
        known = np.zeros(triplets.n_items, bool)
        known[: len(self.embedding_)] = np.isfinite(self.embedding_).all(axis=1)
        found, first = np.unique(triplets.rows[~known[triplets.rows]], return_index=True)
        return found[np.argsort(first)]

    def _place(self, triplets: Triplets, stacklevel: int) -> Placed:
        """Place the new items of triplets over the items of the fit and further ones."""
        d, new = self.embedding_.shape[1], self._new(triplets)
        if not len(new):
            none = np.empty((0, d, d))
            return Placed(triplets.items[:0], none[:, 0], none, np.empty(0, int), none[:, 0, 0] > 0)
        if len(np.unique(triplets.rows)) == len(new):
            raise ValueError(
                f"none of the {len(new):,} items that the answers name has a place on the map: "
                f"they name {some(triplets.items[new], 3)}, and the map {some(self.items_, 3)}. "
                "New items are placed by answers that compare them with known ones"
            )
        found = self._found(triplets)
        order = np.searchsorted(found.items, new)
        scale = self._made_by().scale
        placed = Placed(
            triplets.items[new],
            scale * found.points[order],
            scale**2 * found.covariance[order],
            found.n_rows[order],
            found.weak[order],
        )
        self._warn_of_placed(placed, stacklevel + 1)
        return placed

    def _found(self, triplets: Triplets) -> NewPlaces:
        loss, ridge, scale = self._made_by()
        points = np.full((triplets.n_items, self.embedding_.shape[1]), np.nan)
        points[: len(self.embedding_)] = self.embedding_ / scale
        with single_threaded_blas():
            return place_new(
                triplets.rows,
                triplets.weight,
                points,
                loss,
                regularization=ridge,
                answer=triplets.answer,
                backend=self.backend,
            )

    def _warn_of_placed(self, placed: Placed, stacklevel: int) -> None:
        lost = np.isnan(placed.points).any(axis=1)
        told = []
        if lost.any():
            told.append(
                f"{counted(lost.sum(), 'new item has', 'new items have')} no place (NaN): no "
                "answer leads from there to the map, directly or by way of others: "
                f"{some(placed.items[lost])}"
            )
        if placed.weak.any():
            told.append(
                f"answers tell less about {placed.weak.sum():,} of {len(placed.items):,} new items "
                "than the extent of the map does: they are too few, or set no limit to how far out "
                "an item is. The extent of the map helped to place "
                f"{some(placed.items[placed.weak])}"
            )
        new = {*placed.items.tolist()}
        groups = [group for group in alike([*self.items_.tolist(), *new]) if new & {*group}]
        if groups:
            told.append(
                "some items are new only by case, blanks or what cannot be seen in their labels: "
                f"{groups_in_words(groups)}"
            )
        for text in told:
            warnings.warn(text, UserWarning, stacklevel=stacklevel)

    def partial_fit(
        self, X: Any, y: Any = None, *, triplets_so_far: Any = None
    ) -> "PlacingEmbedder":
        """Take more answers: the map of all answers so far, from where it is.

        New items are placed first, and then all items move, to the same loss, ridge and accuracy
        as in a fit to all answers at once, but from a start that is nearly right. With up to 2,000
        items, another start, at random, is held against it as often as triplets have grown by a
        twentieth, so that poor optima are left.
        What a fit decides before, such as the best of many starts, is decided again once there are
        more than 1.5 times as many triplets as at the last time. Without a fit, this is one.

        Parameters
        ----------
        X : triplets in any form
            Only the new answers. New items are added behind the others, in the order in which
            they are first named. Participants are kept where all answers have one.
        y : array-like of +1 and -1, or of bool, shape (m,), optional
            How the rows were answered, as in `fit`.
        triplets_so_far : triplets in any form, optional
            What the model has been fitted to, which it keeps in memory, but neither in a file nor
            in a pickle: a model of :func:`ordinate.load` needs it once.

        Returns
        -------
        self

        Examples
        --------
        >>> from ordinate import STE, sample_points, sample_triplets
        >>> triplets = sample_triplets(sample_points(30, random_state=0), 5000, random_state=0)
        >>> model = STE(random_state=0)
        >>> for start in range(0, 5000, 1000):
        ...     model = model.partial_fit(triplets[start : start + 1000])
        >>> full = STE(random_state=0).fit(triplets)
        >>> bool(abs(model.loss_ - full.loss_) < 1e-4)
        True
        """
        if not hasattr(self, "embedding_"):
            if triplets_so_far is not None:
                raise ValueError(
                    "triplets_so_far are those that a model was fitted to, and this one is not "
                    "fitted: fit it to them first"
                )
            return self.fit(X, y)  # type: ignore[return-value]
        old = self._so_far(triplets_so_far)
        new = answered(X, beyond_labels(X, self.items_).triplets, y)
        start = np.full((new.n_items, self.embedding_.shape[1]), np.nan)
        start[: len(self.embedding_)] = self.embedding_
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the fit tells what is wrong with all answers
            if len(added := self._new(new)):
                start[added] = self._place(new, stacklevel=2).points
        grown = copy(self)  # an interruption leaves the model as it was
        triplets, _ = grown._prepare(_joined(old, new), None, getattr(self, "device", None))
        afresh = len(triplets) > GROWN * self.n_triplets_at_fit_
        if afresh:
            self._say(
                f"{len(triplets):,} triplets, {self.n_triplets_at_fit_:,} when the map was last "
                "fitted from scratch: what was decided then is decided again"
            )
        else:
            grown.n_triplets_at_fit_ = self.n_triplets_at_fit_
        grown._continue(triplets, start, afresh)
        self.__dict__ = grown.__dict__
        return self

    def _so_far(self, given: Any) -> Triplets:
        """Return what the model was fitted to, over its items."""
        if given is not None:
            old = beyond_labels(given, self.items_).triplets
            if old.n_items > len(self.items_):
                raise ValueError(
                    "triplets_so_far name items that are not among those of the fit: "
                    f"{some(old.items[len(self.items_) :])}"
                )
            return old
        if not isinstance(self._data, Triplets):
            raise ValueError(
                "this model has no answers to add to: files and pickles keep the map alone, and "
                "what is streamed stays in its file. Give those that it was fitted to as "
                "partial_fit(X, triplets_so_far=...), or fit to all answers"
            )
        return self._data


def _joined(old: Triplets, new: Triplets) -> Triplets:
    """Put new triplets behind the old ones, over the items of the new ones.

    Rows without an answer are answers of their own. Participants, and sources of questions, are
    kept where all have one.
    """
    both = (old, new)
    answer = participant = weight = source = None
    if any(table.answer is not None for table in both):
        first, second = (table.groups("answer") for table in both)
        answer = np.concatenate([first, 1 + first.max() + second])
    if all(table.participant is not None for table in both):
        participant = np.concatenate(
            [np.asarray(table.participant_labels)[table.participant] for table in both]
        )
    if any(table.weight is not None for table in both):
        weight = np.concatenate([table._weights for table in both])
    if old.source is not None and new.source is not None:
        source = source_words(np.concatenate([old.source, new.source]))
    return Triplets(
        np.concatenate([old.rows, new.rows]),
        items=new.items,
        answer=answer,
        participant=participant,
        weight=weight,
        source=source,
    )
