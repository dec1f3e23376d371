"""The convex kernel forms STE-Ker, STE-Proj and GNMDS-Ker, for small numbers of items."""

import time
import warnings
from abc import abstractmethod
from collections.abc import Callable
from typing import Any

import numpy as np

from ordinate._base.checks import check_callback, check_number, check_whole
from ordinate._base.threads import single_threaded_blas
from ordinate.algorithms.kernel_forms import (
    Projection,
    check_memory,
    descend_kernel,
    estimate_cost,
    project_rank,
    project_semidefinite,
)
from ordinate.algorithms.optimise import Step, Watch
from ordinate.algorithms.scaling import principal_axes
from ordinate.estimators.base import Embedder
from ordinate.kernels import losses
from ordinate.kernels.losses import Loss
from ordinate.passes import MemoryTriplets

LONG = 120  # seconds that are worth a warning


class KernelEmbedder(Embedder):
    """What the kernel forms share; they say which loss and which projection."""

    _streams = False

    tol: float
    max_iter: int
    backend: str
    callback: Callable[[Step], Any] | None
    kernel_: np.ndarray
    loss_: float
    history_: np.ndarray
    n_iter_: int
    converged_: bool

    def fit(self, X: Any, y: Any = None) -> "KernelEmbedder":
        """Find the map.

        Parameters
        ----------
        X : Triplets, array-like of int (m, 3), DataFrame or Arrow table
            Rows ``(anchor, near, far)``.
        y : array-like of +1 and -1, or of bool, shape (m,), optional
            How rows ``(anchor, first, second)`` were answered: +1 or True where the first is
            nearer, -1 or False where the second is. Without it, the first is nearer in every row.

        Returns
        -------
        self
        """
        triplets, n_components = self._prepare(X, y)
        check_callback(self.callback)
        tol = check_number("tol", self.tol, least=0)
        max_iter = check_whole("max_iter", self.max_iter)
        store = MemoryTriplets.from_triplets(triplets, self.backend)
        loss, project = self._form(n_components)
        with single_threaded_blas():
            cost = estimate_cost(store, loss, project)
        check_memory(cost)
        self._say(
            f"needs {cost.memory / 2**20:,.0f} MiB and about {cost.seconds:.2g} s a step, of which "
            f"there may be {max_iter:,}"
        )
        if cost.seconds * max_iter > LONG:
            warnings.warn(
                f"{type(self).__name__} may take {cost.seconds * max_iter / 60:.0f} minutes "
                f"({max_iter:,} steps of about {cost.seconds:.2g} s); STE and GNMDS are far faster",
                UserWarning,
                stacklevel=2,
            )
        began = time.perf_counter()
        with single_threaded_blas():
            found = descend_kernel(
                store, loss, project, tol=tol, max_iter=max_iter, watch=self._make_watch(store)
            )
        self.kernel_ = found.K
        points = _leading(found.K, n_components)
        n_rows = store.counts.sum(axis=0)
        self.embedding_ = principal_axes(self._placed(points, n_rows, store.n_parts()))
        self.history_ = np.array(found.history)
        self.loss_ = float(self.history_[-1])
        self.n_iter_ = found.n_iter
        self.converged_ = found.converged
        self._say(
            f"loss {self.loss_:.6f} per answer after {self.n_iter_} steps, "
            f"{time.perf_counter() - began:.2f} s"
        )
        self._tell_end(found, loss)
        return self

    @abstractmethod
    def _form(self, n_components: int) -> tuple[Loss, Projection]:
        """Return the loss, and the projection after each step."""

    def _make_watch(self, store: MemoryTriplets) -> Watch:
        def watch(iteration: int, value: float, K: np.ndarray, left: float) -> bool:
            if self.verbose > 1:
                self._say(f"  step {iteration}, loss {value:.6f}")
            if self.callback is None:
                return False
            n_components = self.n_components
            return bool(
                self.callback(
                    Step(iteration, value, left, store.n_passes, lambda: _leading(K, n_components))
                )
            )

        return watch


class STEKer(KernelEmbedder):
    """STE over positive semidefinite matrices of inner products: convex, and slow.

    Parameters
    ----------
    n_components : int
        Dimensions of the map, the leading eigenvectors of the matrix found.
    tol : float
        Share of the value below which a step gains too little to go on.
    max_iter : int
        Most steps of the descent.
    n_items : int, optional
        Number of items, if some may occur in no triplet.
    backend : {"auto", "numba", "numpy"}
        What computes on the CPU: compiled kernels, or NumPy alone; "auto" takes numba if there.
    callback : function, optional
        As for :class:`STE`; a step's `embedding` takes an eigendecomposition.
    verbose : int
        1 prints the memory and time that it will take, and what is done; 2 each step.

    Attributes
    ----------
    embedding_ : ndarray, shape (n_items, n_components)
    kernel_ : ndarray, shape (n_items, n_items)
        Inner products of all items; of any rank, which may be more than the map shows.
    items_ : ndarray, shape (n_items,)
    loss_ : float
        Mean loss of an answer, of `kernel_`.
    history_ : ndarray
    n_iter_ : int
    converged_ : bool
    device_ : str
        "cpu": these run nowhere else.
    """

    def __init__(
        self,
        n_components: int = 2,
        *,
        tol: float = 1e-6,
        max_iter: int = 1000,
        n_items: int | None = None,
        backend: str = "auto",
        callback: Callable[[Step], Any] | None = None,
        verbose: int = 0,
    ) -> None:
        self.n_components = n_components
        self.tol = tol
        self.max_iter = max_iter
        self.n_items = n_items
        self.backend = backend
        self.callback = callback
        self.verbose = verbose

    def _form(self, n_components: int) -> tuple[Loss, Projection]:
        return losses.get("ste"), project_semidefinite


class STEProj(STEKer):
    """STE over matrices of inner products of rank d, by projection on the leading eigenvalues.

    Parameters and attributes are those of :class:`STEKer`.
    """

    def _form(self, n_components: int) -> tuple[Loss, Projection]:
        return losses.get("ste"), project_rank(n_components)


class GNMDSKer(STEKer):
    """GNMDS over positive semidefinite matrices of inner products: convex, and slow.

    Parameters and attributes are those of :class:`STEKer`; the margin is 1.
    """

    def _form(self, n_components: int) -> tuple[Loss, Projection]:
        return losses.get("gnmds"), project_semidefinite


def _leading(K: np.ndarray, n_components: int) -> np.ndarray:
    values, vectors = np.linalg.eigh(K)
    values, vectors = values[::-1][:n_components], vectors[:, ::-1][:, :n_components]
    return vectors * np.sqrt(np.maximum(values, 0))
