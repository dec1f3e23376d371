"""What the estimators that minimise a loss share: the start, the descent, the report."""

import math
import time
import warnings
from abc import abstractmethod
from collections.abc import Callable
from typing import Any, TypeGuard

import numpy as np
from sklearn.base import clone

from ordinate._base.arrays import beside, on_host
from ordinate._base.checks import (
    check_callback,
    check_choice,
    check_number,
    check_whole,
    random_generator,
)
from ordinate._base.device import TORCH_CPU
from ordinate._base.threads import single_threaded_blas
from ordinate.algorithms.landmark_choice import asks_about_landmarks
from ordinate.algorithms.optimise import BATCH, GROWTH, SOLVERS, Found, Step, Watch
from ordinate.algorithms.race import Race
from ordinate.algorithms.scaling import principal_axes
from ordinate.algorithms.spectral import best_scale, spectral_start
from ordinate.algorithms.starts import (
    Ending,
    Start,
    agreement,
    endings,
    is_small,
    n_on_sample,
    race_on_sample,
)
from ordinate.data.labels import places
from ordinate.data.triplets import Triplets
from ordinate.estimators.base import Embedder
from ordinate.estimators.loe import LOE
from ordinate.estimators.occurring import EVERY, Items, among_occurring
from ordinate.estimators.placing import MadeBy, PlacingEmbedder
from ordinate.files.inputs import over_labels
from ordinate.kernels.losses import Loss
from ordinate.passes import MemoryTriplets, TripletStore, store_of

WORKING = 600  # bytes per coordinate of a map, at most at the same time
SAMPLED = 28 * 128  # bytes per coordinate of the largest sample, that of the spectral start
SINGLE = 1e-5  # tol from which terms in single precision are enough on a GPU
INITS = ("auto", "spectral", "loe", "random")
RIVAL = 1.05  # times as many triplets as when starts last raced, and one more start is tried


class GradientEmbedder(PlacingEmbedder):
    """What the estimators that minimise a loss share; they say which loss."""

    init: Any
    n_init: Any
    regularization: float
    tol: float
    max_iter: int
    solver: str
    backend: str
    device: Any
    random_state: Any
    callback: Callable[[Step], Any] | None
    loss_: float
    history_: np.ndarray
    n_iter_: int
    n_passes_: float
    n_triplets_at_race_: int
    converged_: bool
    init_: Start
    starts_: list[Ending]

    _worked_on: Items = EVERY

    def fit(self, X: Any, y: Any = None, *, init_triplets: Any = None) -> "GradientEmbedder":
        """Find the map.

        Parameters
        ----------
        X : Triplets, array-like of int (m, 3), DataFrame, Arrow table, or a file
            Rows ``(anchor, near, far)``. A file too large for memory is streamed: its path, or
            what :func:`ordinate.ondisk.open_triplets` returns.
        y : array-like of +1 and -1, or of bool, shape (m,), optional
            How rows ``(anchor, first, second)`` were answered: +1 or True where the first is
            nearer, -1 or False where the second is. Without it, the first is nearer in every row.
        init_triplets : triplets in any form, optional
            Triplets over the same items for the start alone, where `init` is "auto", "loe",
            "spectral" or an LOE that is not fitted: the paper's warm start is
            ``STE(init="loe").fit(uniform, init_triplets=landmark)``.

        Returns
        -------
        self
        """
        triplets, n_components = self._prepare(X, y, self.device)
        self.n_triplets_at_race_ = len(triplets)
        loss, options = self._loss(n_components), self._options()
        began = time.perf_counter()
        self._worked_on = EVERY
        if init_triplets is None:  # which may mention others
            triplets, self._worked_on = among_occurring(triplets, n_components)
        store = self._checked_store(triplets, n_components)
        # A stream of its own: points that were simulated with the same seed must not be the start.
        generator = random_generator(self.random_state).spawn(1)[0]
        with single_threaded_blas():
            first = self._start(triplets, init_triplets, store, n_components, generator)
            if not on_host(first.points).any():  # no step leads away from one place
                self._say(f"the {first.name} start has all items in one place: a random one")
                first = _random(store, n_components, generator)
            if self._races:
                start, found = self._race(store, loss, first, generator, options)
            else:
                start, found = self._try_all(store, loss, first, generator, options)
        if len(self.starts_) > 1:
            self._say(f"best start: {start.name}; {agreement(self.starts_)}")
        self._keep(store, loss, start, found, options, began)
        return self

    def _continue(self, triplets: Triplets, start: np.ndarray, afresh: bool) -> None:
        """Descend from the map so far, which races with other starts again where a fit would.

        Between such races, one start at random is held against it now and then, if items are few.
        """
        loss, options = self._loss(start.shape[1]), self._options()
        began = time.perf_counter()
        triplets, self._worked_on = among_occurring(triplets, start.shape[1])
        store = self._checked_store(triplets, start.shape[1])
        first = Start("the map so far", self._given(start, start.shape[1]))
        with single_threaded_blas():
            generator = random_generator(self.random_state).spawn(1)[0]
            if afresh and self._races:
                self.n_triplets_at_race_ = len(triplets)
                best, found = self._race(store, loss, first, generator, options)
            else:
                best, solver = first, "blocks" if self.solver == "auto" else self.solver
                points, watch = beside(store.counts, first.points), self._make_watch(store)
                found = SOLVERS[solver](store, loss, points, watch=watch, **options)
                self.starts_ = endings([first.name], [found])
                raced = getattr(self, "n_triplets_at_race_", 0)  # unknown of older folders
                due = len(store) >= RIVAL * raced and not found.stopped
                if due and self._races and self._is_small(store):
                    self.n_triplets_at_race_ = len(store)
                    # Another one each time, as answers have come in between.
                    seeds = [int(generator.integers(1 << 31)), len(store)]
                    race = Race(store, loss, np.random.default_rng(seeds), **options)
                    lower, self.starts_ = race.challenge(found)
                    if lower is not found:
                        self._say("another start ends lower than the map so far")
                        best = Start(self.starts_[0].name, lower.points)
                        found = SOLVERS[solver](store, loss, lower.points, watch=watch, **options)
        self._keep(store, loss, best, found, options, began)

    @staticmethod
    def _is_small(store: TripletStore) -> TypeGuard[MemoryTriplets]:
        """Whether starts can race on all rows."""
        return isinstance(store, MemoryTriplets) and is_small(store)

    @property
    def _races(self) -> bool:
        """Whether several starts may race: none in particular was asked for."""
        return self.n_init == "auto" and isinstance(self.init, str) and self.init == "auto"

    def _made_by(self) -> MadeBy:
        return MadeBy(self._loss(self.embedding_.shape[1]), self.regularization)

    def _options(self) -> dict[str, Any]:
        """Check the parameters of the descent, and return what a solver takes of them."""
        check_callback(self.callback)
        check_choice("solver", self.solver, ("auto", *SOLVERS))
        options = {
            "regularization": check_number("regularization", self.regularization, least=0),
            "tol": check_number("tol", self.tol, least=0),
            "max_iter": check_whole("max_iter", self.max_iter),
        }
        if self.n_init != "auto":
            check_whole("n_init", self.n_init)
        return options

    def _keep(
        self,
        store: TripletStore,
        loss: Loss,
        start: Start,
        found: Found,
        options: dict[str, Any],
        began: float,
    ) -> None:
        """Keep what a descent has found, and tell what came of it."""
        self.init_ = start._replace(points=self._worked_on.over_all(on_host(start.points)))
        n_rows = self._worked_on.over_all(on_host(store.counts).sum(axis=0), none=0)
        points = self._worked_on.over_all(on_host(found.points))
        self.embedding_ = principal_axes(self._placed(points, n_rows, store.n_parts()))
        self.history_ = np.array(found.history)
        ridge = options["regularization"] / 2 * float((np.nan_to_num(self.embedding_) ** 2).sum())
        self.loss_ = float(self.history_[-1]) - ridge / store.total
        self.n_iter_ = found.n_iter
        self.n_passes_ = store.n_passes
        self.converged_ = found.converged
        self._say(
            f"loss {self.loss_:.6f} per answer after {self.n_iter_} steps, {self.n_passes_:.1f} "
            f"passes, {time.perf_counter() - began:.2f} s"
        )
        self._tell_end(
            found,
            loss,
            options["regularization"],
            ". Where answers hardly contradict each other, a little regularization keeps the map "
            "from growing without end",
        )

    @abstractmethod
    def _loss(self, n_components: int) -> Loss:
        """Return the loss that the map minimises."""

    def _from_here(self) -> Embedder:
        return self._settled().set_params(init=self.embedding_, n_init=1)

    def _fitted_again(self, triplets: Triplets, **settings: Any) -> Any:
        model = super()._fitted_again(triplets, **settings)
        return model.set_params(init=self.init, n_init=self.n_init)

    def _checked_store(self, triplets: Any, n_components: int) -> TripletStore:
        """Return the store of all triplets, once it is known that memory is enough."""
        size = triplets.n_items * n_components
        self._check_memory(triplets, WORKING * size, SAMPLED * size)
        return self._store(triplets)

    def _store(self, triplets: Any) -> TripletStore:
        single = self.device_ != TORCH_CPU and self.tol >= SINGLE
        return store_of(
            triplets, self.backend, self.device_, precision="single" if single else "double"
        )

    def _start(
        self,
        triplets: Any,
        init_triplets: Any,
        store: TripletStore,
        n_components: int,
        generator: np.random.Generator,
    ) -> Start:
        """Find the start that was asked for, up to its scale."""
        init = self.init
        of_triplets, of_store = triplets, store
        if init_triplets is not None:
            self._check_uses_triplets(init)
            of_triplets = over_labels(init_triplets, self.items_)
            of_store = self._store(of_triplets)
        if isinstance(init, LOE) and hasattr(init, "embedding_"):
            return Start("loe", self._given(over_items(init, self.items_), n_components))
        if isinstance(init, LOE):
            return self._loe(clone(init), of_triplets)
        if not isinstance(init, str):
            return Start("given", self._given(init, n_components))
        check_choice("init (if it is a word)", init, INITS)
        if init == "auto":
            n_rows = on_host(of_store.counts[0])
            init = "loe" if asks_about_landmarks(n_rows, n_components) else "spectral"
            self._say(f"start: {init}, chosen by the data")
        if init == "random":
            return _random(store, n_components, generator)
        if init == "loe":
            model = LOE(
                n_components,
                noise=getattr(self, "noise", "btl"),
                backend=self.backend,
                device=self.device,
            )
            return self._loe(model, of_triplets)
        spectral = spectral_start(of_store, n_components, generator)
        self._say(f"spectral start, gap {spectral.gap:.2f}")
        return Start("spectral", spectral.points, spectral.gap)

    def _check_uses_triplets(self, init: Any) -> None:
        """Raise if triplets were given for a start that has no use for them."""
        if isinstance(init, LOE):
            used, given = not hasattr(init, "embedding_"), "a fitted LOE"
        else:
            used = isinstance(init, str) and init != "random"
            given = repr(init) if isinstance(init, str) else "an array"
        if not used:
            raise ValueError(
                f"init_triplets are for a start that is found from triplets, and init is {given}: "
                "leave them out, or take init='loe' or init='spectral'"
            )

    def _loe(self, model: LOE, triplets: Any) -> Start:
        """LOE's map as a start; what it leaves out is of no concern where all triplets follow."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            model.fit(triplets)
        self._say(
            f"LOE start: {len(model.landmarks_)} landmarks, {model.n_triplets_used_:,} of "
            f"{len(triplets):,} triplets, misfit {model.misfit_:.2f}"
        )
        return Start(
            "loe", self._given(self._worked_on.over_all(model.embedding_), self.n_components)
        )

    def _given(self, points: Any, n_components: int) -> np.ndarray:
        """Check coordinates; items without a place (NaN) start from the centre."""
        points = np.array(points, dtype=float)
        shape = (len(self.items_), n_components)
        if points.shape != shape:
            raise ValueError(f"init must be of shape {shape}; it is of shape {points.shape}")
        points = points[self._worked_on.ids]
        placed = np.isfinite(points).all(axis=1)
        if placed.sum() < 2:
            raise ValueError("init must have finite coordinates for at least two items")
        points -= points[placed].mean(axis=0)
        points[~placed] = 0
        return points

    def _race(
        self,
        store: TripletStore,
        loss: Loss,
        first: Start,
        generator: np.random.Generator,
        options: dict,
    ) -> tuple[Start, Found]:
        """Let starts race, where that costs little, and descend from the best."""
        watch = self._make_watch(store)
        if self._is_small(store):
            race = Race(store, loss, generator, **options)
            start, self.starts_ = race.run(first)
            solver = "blocks" if self.solver == "auto" else self.solver
            return start, SOLVERS[solver](store, loss, start.points, watch=watch, **options)
        n_starts = n_on_sample(store, loss, math.prod(first.points.shape))
        if n_starts == 1:
            return self._try_all(store, loss, first, generator, options)
        others = [_random(store, first.points.shape[1], generator) for _ in range(n_starts - 1)]
        start, self.starts_ = race_on_sample(store, loss, [first, *others], self._descend, options)
        # What has raced is no random start any more, which batches would suit.
        begin = start if start is first else Start("given", start.points)
        return start, self._descend(store, loss, begin, options, watch)

    def _try_all(
        self,
        store: TripletStore,
        loss: Loss,
        first: Start,
        generator: np.random.Generator,
        options: dict,
    ) -> tuple[Start, Found]:
        """Descend from as many starts as were asked for, on all triplets, and keep the best."""
        n_init = 1 if self.n_init == "auto" else int(self.n_init)
        starts = [first]
        starts += [_random(store, first.points.shape[1], generator) for _ in range(n_init - 1)]
        tries: list[Found] = []
        for start in starts:
            tries.append(self._descend(store, loss, start, options, self._make_watch(store)))
            if tries[-1].stopped:
                break
        self.starts_ = endings([start.name for start in starts[: len(tries)]], tries)
        best = int(np.argmin([found.history[-1] for found in tries]))
        return starts[best], tries[best]

    def _descend(
        self, store: TripletStore, loss: Loss, start: Start, options: dict, watch: Watch | None
    ) -> Found:
        solver = self.solver
        if solver == "auto":
            many = len(store) >= GROWTH * BATCH * store.n_items * start.points.shape[1]
            solver = "batches" if start.name == "random" and many else "blocks"
        points = beside(store.counts, start.points)
        points = best_scale(store, loss, points) * points
        return SOLVERS[solver](store, loss, points, watch=watch, **options)

    def _make_watch(self, store: TripletStore) -> Watch:
        """What happens at every step over all triplets."""
        items = self._worked_on

        def watch(iteration: int, value: float, points: np.ndarray, left: float) -> bool:
            if self.verbose > 1:
                self._say(f"  loss {value:.6f}, decrement {left:.3g} times the limit")
            if self.callback is None:
                return False
            step = Step(
                iteration, value, left, store.n_passes, lambda: items.over_all(on_host(points))
            )
            return bool(self.callback(step))

        return watch


def over_items(model: Embedder, labels: np.ndarray) -> np.ndarray:
    """Return a fitted model's map for these items, NaN where it has none."""
    rows = places(labels.tolist(), model.items_.tolist())
    return np.where(rows[:, None] >= 0, model.embedding_[rows], np.nan)


def _random(store: TripletStore, n_components: int, generator: np.random.Generator) -> Start:
    return Start("random", generator.normal(size=(store.n_items, n_components)))
