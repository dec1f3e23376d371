"""STE and its relatives: maps that minimise a loss over any triplets, from a good start."""

from collections.abc import Callable
from typing import Any

from ordinate._base.checks import check_choice, check_number
from ordinate.algorithms.optimise import Step
from ordinate.estimators.descent import GradientEmbedder
from ordinate.estimators.likelihood import LikelihoodEmbedder
from ordinate.kernels import losses
from ordinate.kernels.losses import Loss
from ordinate.kernels.noise import NAMES as NOISES


class STE(LikelihoodEmbedder, GradientEmbedder):
    """Stochastic triplet embedding: the map that makes the answers most likely.

    A triplet has the probability f(far - near), of squared distances, with f logistic
    (van der Maaten and Weinberger, 2012) or the normal distribution function.

    Parameters
    ----------
    n_components : int
        Number of dimensions d.
    noise : {"btl", "thurstone"}
        How answers err: logistic or normal in the difference of squared distances.
    init : {"auto", "spectral", "loe", "random"}, LOE or array-like (n_items, n_components)
        The start. "spectral" suits any triplets, "loe" triplets about landmarks; "auto" takes "loe"
        where few items are anchors, else "spectral". A fitted LOE lends its map, another is fitted
        first. The scale is found for the loss.
    n_init : int or "auto"
        How many starts to try, the others at random; the best result is kept. "auto" lets starts
        of several kinds race, up to 2,000 items, unless one is asked for: that costs up to some
        eight times as much as one start.
    regularization : float
        Ridge on the coordinates, for few answers per item: half of it times the squared norm of the
        map is added to the sum of losses.
    tol : float
        Where to stop: the share of the squared statistical error that optimisation may leave.
        Smaller is stricter.
    max_iter : int
        Most steps of a descent; a warning tells if they were too few.
    solver : {"auto", "blocks", "batches", "scipy"}
        Quasi-Newton steps with each item's own curvature; the same on growing batches; scipy's
        L-BFGS. "auto" takes batches for random starts with many triplets, else blocks.
    n_items : int, optional
        Number of items, if some may occur in no triplet.
    backend : {"auto", "numba", "numpy"}
        What computes on the CPU: compiled kernels, or NumPy alone; "auto" takes numba if there.
    device : None, "cpu", "cuda", "cuda:<number>", "auto" or torch.device
        Where the passes run: a GPU if named, or by "auto" if there is one. See docs/gpu.md.
    random_state : int, Generator or None
        For random starts and batches; the same seed gives the same map.
    callback : function, optional
        Called with a :class:`.Step` at the start and after each step, of every
        start that is tried on all triplets: its number, the loss, the map, passes so far. If it
        returns True the fit ends there and keeps the map; what it raises ends the fit. Steps of
        races between starts are left out.
    verbose : int
        1 prints what is done, 2 each step.

    Attributes
    ----------
    embedding_ : ndarray, shape (n_items, n_components)
        Centred, along its principal axes. Items in no triplet are NaN, and a warning names them.
    items_ : ndarray, shape (n_items,)
    loss_ : float
        Mean loss of an answer, without the ridge.
    history_ : ndarray
        The same with the ridge, at the start and after each step; of the batch at hand where there
        are batches.
    n_iter_ : int
    n_passes_ : float
        Passes over the triplets, those of the start included, samples by their share; over all
        starts.
    n_triplets_at_race_ : int
        How many there were when starts last raced, which tells `partial_fit` when to try another.
    converged_ : bool
    device_ : str
        The device used: "cpu", or that of the GPU.
    init_ : Start
        The start of the result: its name, its map and, if spectral, its gap.
    starts_ : list of Ending
        Where each start ended, the best first: its name, its loss and the distance of its map from
        the one found, which may have been improved since.

    Examples
    --------
    >>> from ordinate import STE, procrustes_error, sample_points, sample_triplets
    >>> points = sample_points(500, 2, random_state=0)
    >>> triplets = sample_triplets(points, 300_000, random_state=0)
    >>> model = STE(n_components=2, random_state=0).fit(triplets)
    >>> print(f"{procrustes_error(model.embedding_, points, relative=True):.2f}")
    0.08
    """

    def __init__(
        self,
        n_components: int = 2,
        *,
        noise: str = "btl",
        init: Any = "auto",
        n_init: Any = "auto",
        regularization: float = 0.0,
        tol: float = 1e-4,
        max_iter: int = 500,
        solver: str = "auto",
        n_items: int | None = None,
        backend: str = "auto",
        device: Any = None,
        random_state: Any = None,
        callback: Callable[[Step], Any] | None = None,
        verbose: int = 0,
    ) -> None:
        self.n_components = n_components
        self.noise = noise
        self.init = init
        self.n_init = n_init
        self.regularization = regularization
        self.tol = tol
        self.max_iter = max_iter
        self.solver = solver
        self.n_items = n_items
        self.backend = backend
        self.device = device
        self.random_state = random_state
        self.callback = callback
        self.verbose = verbose

    def _loss(self, n_components: int) -> Loss:
        check_choice("noise", self.noise, NOISES)
        return losses.get({"btl": "ste", "thurstone": "probit"}[self.noise])


class TSTE(LikelihoodEmbedder, GradientEmbedder):
    """Student-t stochastic triplet embedding: far items may lie anywhere far away.

    STE with the heavy tails of Student's distribution (van der Maaten and Weinberger, 2012): good
    for showing groups.

    Parameters
    ----------
    n_components : int
    alpha : float, optional
        Degrees of freedom; by default ``max(n_components - 1, 1)``.
    init and all others
        As for :class:`STE`, and so are the attributes.
    """

    def __init__(
        self,
        n_components: int = 2,
        *,
        alpha: float | None = None,
        init: Any = "auto",
        n_init: Any = "auto",
        regularization: float = 0.0,
        tol: float = 1e-4,
        max_iter: int = 500,
        solver: str = "auto",
        n_items: int | None = None,
        backend: str = "auto",
        device: Any = None,
        random_state: Any = None,
        callback: Callable[[Step], Any] | None = None,
        verbose: int = 0,
    ) -> None:
        self.n_components = n_components
        self.alpha = alpha
        self.init = init
        self.n_init = n_init
        self.regularization = regularization
        self.tol = tol
        self.max_iter = max_iter
        self.solver = solver
        self.n_items = n_items
        self.backend = backend
        self.device = device
        self.random_state = random_state
        self.callback = callback
        self.verbose = verbose

    def _loss(self, n_components: int) -> Loss:
        alpha = max(n_components - 1, 1) if self.alpha is None else self.alpha
        return losses.get("tste", alpha=check_number("alpha", alpha, above=0))


class CKL(LikelihoodEmbedder, GradientEmbedder):
    """Crowd kernel learning: near is preferred in proportion to the squared distances.

    The probability of a triplet is ``(mu + far) / (2 mu + near + far)``, of squared distances
    (Tamuz, Liu, Belongie, Shamir and Kalai, 2011).

    Parameters
    ----------
    n_components : int
    mu : float
        Keeps probabilities from 0 and 1. With 0 the map has no scale of its own.
    init and all others
        As for :class:`STE`, and so are the attributes.
    """

    def __init__(
        self,
        n_components: int = 2,
        *,
        mu: float = 0.05,
        init: Any = "auto",
        n_init: Any = "auto",
        regularization: float = 0.0,
        tol: float = 1e-4,
        max_iter: int = 500,
        solver: str = "auto",
        n_items: int | None = None,
        backend: str = "auto",
        device: Any = None,
        random_state: Any = None,
        callback: Callable[[Step], Any] | None = None,
        verbose: int = 0,
    ) -> None:
        self.n_components = n_components
        self.mu = mu
        self.init = init
        self.n_init = n_init
        self.regularization = regularization
        self.tol = tol
        self.max_iter = max_iter
        self.solver = solver
        self.n_items = n_items
        self.backend = backend
        self.device = device
        self.random_state = random_state
        self.callback = callback
        self.verbose = verbose

    def _loss(self, n_components: int) -> Loss:
        return losses.get("ckl", mu=check_number("mu", self.mu, least=0))


class PowerEmbedding(LikelihoodEmbedder, GradientEmbedder):
    """The most likely map of people who compare powers of distances, and lapse now and then.

    A triplet has the probability ``lapse / 2 + (1 - lapse) f(slope (link(far) - link(near)))``, of
    squared distances, with f logistic and ``link(u) = ((1 + u)^power - 1) / power``, or log(1 + u)
    at power 0. Three relatives are points of this family, without lapses and up to the scale of the
    map: :class:`STE` has power 1; :class:`CKL` power 0 and slope 1, its map being sqrt(mu) times
    this one; :class:`TSTE` power 0 and slope (alpha + 1) / 2, its map being sqrt(alpha) times this
    one. Power 1/2 on a large map compares distances, as :class:`SOE` does.

    Parameters
    ----------
    n_components : int
    power : float
        From -10 to below 10: the larger, the more differences of large distances count beside those
        of small ones.
    slope : float
        How clear answers are. At power 1 it is the map's scale by another name.
    lapse : float
        From 0 to below 1: the share of answers that are guesses, whatever the distances.
    init and all others
        As for :class:`STE`, and so are the attributes.
    """

    def __init__(
        self,
        n_components: int = 2,
        *,
        power: float = 0.5,
        slope: float = 1.0,
        lapse: float = 0.02,
        init: Any = "auto",
        n_init: Any = "auto",
        regularization: float = 0.0,
        tol: float = 1e-4,
        max_iter: int = 500,
        solver: str = "auto",
        n_items: int | None = None,
        backend: str = "auto",
        device: Any = None,
        random_state: Any = None,
        callback: Callable[[Step], Any] | None = None,
        verbose: int = 0,
    ) -> None:
        self.n_components = n_components
        self.power = power
        self.slope = slope
        self.lapse = lapse
        self.init = init
        self.n_init = n_init
        self.regularization = regularization
        self.tol = tol
        self.max_iter = max_iter
        self.solver = solver
        self.n_items = n_items
        self.backend = backend
        self.device = device
        self.random_state = random_state
        self.callback = callback
        self.verbose = verbose

    def _loss(self, n_components: int) -> Loss:
        return losses.power_family(self.power, self.slope, self.lapse)


class GNMDS(GradientEmbedder):
    """Generalised non-metric scaling: far should exceed near, in squared distances, by a margin.

    The loss is the hinge ``max(0, near - far + margin)`` (Agarwal and others, 2007).

    Parameters
    ----------
    n_components : int
    margin : float
        Sets the scale of the map.
    init and all others
        As for :class:`STE`, and so are the attributes.
    """

    def __init__(
        self,
        n_components: int = 2,
        *,
        margin: float = 1.0,
        init: Any = "auto",
        n_init: Any = "auto",
        regularization: float = 0.0,
        tol: float = 1e-4,
        max_iter: int = 500,
        solver: str = "auto",
        n_items: int | None = None,
        backend: str = "auto",
        device: Any = None,
        random_state: Any = None,
        callback: Callable[[Step], Any] | None = None,
        verbose: int = 0,
    ) -> None:
        self.n_components = n_components
        self.margin = margin
        self.init = init
        self.n_init = n_init
        self.regularization = regularization
        self.tol = tol
        self.max_iter = max_iter
        self.solver = solver
        self.n_items = n_items
        self.backend = backend
        self.device = device
        self.random_state = random_state
        self.callback = callback
        self.verbose = verbose

    def _loss(self, n_components: int) -> Loss:
        return losses.get("gnmds", margin=check_number("margin", self.margin, above=0))


class SOE(GradientEmbedder):
    """Soft ordinal embedding: far should exceed near, in distances, by a margin.

    The loss is ``max(0, near + margin - far)^2``, of distances (Terada and von Luxburg, 2014).

    Parameters
    ----------
    n_components : int
    margin : float
        Sets the scale of the map.
    init and all others
        As for :class:`STE`, and so are the attributes.
    """

    def __init__(
        self,
        n_components: int = 2,
        *,
        margin: float = 0.1,
        init: Any = "auto",
        n_init: Any = "auto",
        regularization: float = 0.0,
        tol: float = 1e-4,
        max_iter: int = 500,
        solver: str = "auto",
        n_items: int | None = None,
        backend: str = "auto",
        device: Any = None,
        random_state: Any = None,
        callback: Callable[[Step], Any] | None = None,
        verbose: int = 0,
    ) -> None:
        self.n_components = n_components
        self.margin = margin
        self.init = init
        self.n_init = n_init
        self.regularization = regularization
        self.tol = tol
        self.max_iter = max_iter
        self.solver = solver
        self.n_items = n_items
        self.backend = backend
        self.device = device
        self.random_state = random_state
        self.callback = callback
        self.verbose = verbose

    def _loss(self, n_components: int) -> Loss:
        return losses.get("soe", margin=check_number("margin", self.margin, above=0))
