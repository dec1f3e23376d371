"""The methods by name: what each is for, and which one suits given triplets."""

from typing import Any, NamedTuple

from ordinate._base.checks import check_choice
from ordinate._base.messages import Message, Option
from ordinate.algorithms.landmark_choice import asks_about_landmarks
from ordinate.data.triplets import Triplets
from ordinate.estimators import (
    CKL,
    GNMDS,
    LOE,
    SOE,
    STE,
    TSTE,
    GNMDSKer,
    PowerEmbedding,
    STEKer,
    STEProj,
)
from ordinate.estimators.base import Embedder
from ordinate.files.ondisk import TripletFile
from ordinate.passes import store_of

# Above this many triplets about landmarks, LOE alone is as good as finished, and faster.
MANY = 20_000_000
# With fewer triplets per coordinate a ridge of 1 more than halves the error; docs/maps.md.
FEW = 10
RIDGE = 1.0


class Method(NamedTuple):
    """A method: its name on the command line, its estimator, what it is for."""

    name: str
    estimator: type[Embedder]
    purpose: str
    needs: str


METHODS = (
    Method("ste", STE, "the most likely map of noisy answers; the usual choice", "any triplets"),
    Method("tste", TSTE, "like ste with heavy tails: shows groups", "any triplets"),
    Method("ckl", CKL, "answers that depend on ratios of distances", "any triplets"),
    Method("power", PowerEmbedding, "people who compare distances, and lapse", "any triplets"),
    Method("soe", SOE, "answers with little noise: respects their order", "any triplets"),
    Method("gnmds", GNMDS, "a max-margin baseline", "any triplets"),
    Method("loe", LOE, "hundreds of millions of answers in seconds", "questions about landmarks"),
    Method("ste-ker", STEKer, "convex form of ste, for comparison", "up to 2,000 items or so"),
    Method("ste-proj", STEProj, "ste over matrices of low rank", "up to 2,000 items or so"),
    Method("gnmds-ker", GNMDSKer, "convex form of gnmds", "up to 2,000 items or so"),
)
NAMES = ("auto", *(method.name for method in METHODS))


class Choice(NamedTuple):
    """An estimator ready to fit, its method's name, and why it was chosen."""

    estimator: Embedder
    name: str
    reason: str


def choose(
    triplets: Triplets | TripletFile, n_components: int, name: str = "auto", **options: Any
) -> Choice:
    """Make the estimator that was asked for, or the one that suits the triplets.

    Parameters
    ----------
    triplets : Triplets or TripletFile
    n_components : int
    name : str
        "auto" takes LOE for over 20 million triplets about landmarks, else STE, with a ridge of 1
        where there are fewer than 10 triplets per coordinate.
    **options
        Parameters of the estimator. None stands for its default. A random_state goes to those
        methods that are random, and the device "cpu" or "auto" to those that have a choice.

    Examples
    --------
    >>> from ordinate import sample_points, sample_triplets
    >>> triplets = sample_triplets(sample_points(50, random_state=0), 5000, random_state=0)
    >>> choose(triplets, 2).estimator
    STE()
    """
    check_choice("method", name, NAMES)
    given = {option: value for option, value in options.items() if value is not None}
    reason = "as asked for"
    if name == "auto":
        name, reason = "ste", "the most likely map, whatever the sampling"
        if len(triplets) > MANY and asks_about_landmarks(
            store_of(triplets).counts[0], n_components
        ):
            name, reason = "loe", "very many questions about few landmarks"
        elif _n_answers(triplets) < FEW * triplets.n_items * n_components:
            given.setdefault("regularization", RIDGE)
            reason += f"; with a ridge of {given['regularization']:g}, as answers are few"
    estimator = {method.name: method.estimator for method in METHODS}[name]
    known = estimator().get_params()
    if "random_state" not in known:
        given.pop("random_state", None)
    if "device" not in known:
        device = given.pop("device", "cpu")
        if device not in ("cpu", "auto"):
            raise ValueError(
                Message(
                    f"method {name} runs on the CPU alone, and ",
                    Option("device", device),
                    " was asked for: leave that out, or take another method",
                )
            )
    unknown = sorted(set(given) - set(known))
    if unknown:
        raise ValueError(
            Message(
                f"method {name} does not take ",
                Message.joined(", ", (Message(Option(option)) for option in unknown)),
            )
        )
    return Choice(estimator(n_components, **given), name, reason)


def _n_answers(triplets: Triplets | TripletFile) -> float:
    """Rows counted by their weight, where that is known without reading a file."""
    weight = getattr(triplets, "weight", None)
    return len(triplets) if weight is None else float(weight.sum())
