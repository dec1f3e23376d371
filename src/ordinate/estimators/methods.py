"""Which method suits given triplets, and its estimator."""

from collections.abc import Iterable
from typing import Any, NamedTuple

from ordinate import estimators
from ordinate._base.checks import check_choice
from ordinate._base.messages import Message, Option
from ordinate.algorithms.landmark_choice import asks_about_landmarks
from ordinate.data.triplets import Triplets
from ordinate.estimators.base import Embedder
from ordinate.estimators.catalogue import METHODS, NAMES
from ordinate.files.ondisk import TripletFile
from ordinate.passes import store_of

# Above this many triplets about landmarks, LOE alone is as good as finished, and faster.
MANY = 20_000_000
# With fewer triplets per coordinate a ridge of 1 more than halves the error; docs/maps.md.
FEW = 10
RIDGE = 1.0
LEAST = 50  # answers that can choose anything


class Choice(NamedTuple):
    """An estimator ready to fit, its method's name, and why it was chosen."""

    estimator: Embedder
    name: str
    reason: str


def choose(
    triplets: Triplets | TripletFile,
    n_components: int | str | Iterable[int],
    name: str = "auto",
    **options: Any,
) -> Choice:
    """Make the estimator that was asked for, or the one that suits the triplets.

    Parameters
    ----------
    triplets : Triplets or TripletFile
    n_components : int, "auto" or iterable of int
        Those that :class:`.OrdinalEmbedding` alone takes leave the number of dimensions to it.
    name : str
        "auto" takes the estimator that lets unseen answers choose; LOE for over 20 million triplets
        about landmarks. It takes STE for fewer than 50 answers, and where an option is given that
        the other would choose itself: then with a ridge of 1 where there are fewer than 10
        triplets per coordinate.
    **options
        Parameters of the estimator. None stands for its default. A random_state goes to those
        methods that are random, and the device "cpu" or "auto" to those that have a choice.

    Examples
    --------
    >>> from ordinate import sample_points, sample_triplets
    >>> triplets = sample_triplets(sample_points(50, random_state=0), 5000, random_state=0)
    >>> choose(triplets, 2).estimator
    OrdinalEmbedding()
    """
    check_choice("method", name, NAMES)
    given = {option: value for option, value in options.items() if value is not None}
    reason = "as asked for"
    if isinstance(n_components, Iterable):
        name, reason = _choosing(triplets, name), "it chooses the number of dimensions"
    elif name == "auto":
        name, reason = _suitable(triplets, n_components, given)
    classes = {method.name: method.estimator for method in METHODS}
    estimator = getattr(estimators, classes[name])
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


def _suitable(
    triplets: Triplets | TripletFile, n_components: int, given: dict[str, Any]
) -> tuple[str, Message | str]:
    """Return the name of the method that suits, and why; a ridge goes to what is given."""
    if len(triplets) > MANY and asks_about_landmarks(store_of(triplets).counts[0], n_components):
        return "loe", "very many questions about few landmarks"
    chosen_there = sorted(set(given) - set(estimators.OrdinalEmbedding().get_params()))
    why_not: Message | None = None
    if chosen_there:
        names = Message.joined(", ", (Message(Option(option)) for option in chosen_there))
        why_not = Message("nothing was chosen by unseen answers, since ", names, " was given")
    elif isinstance(triplets, Triplets) and int(triplets.groups("answer").max()) + 1 < LEAST:
        why_not = Message(f"fewer than {LEAST} answers cannot choose a model")
    if why_not is None:
        return "ordinal", "what predicts unseen answers best"
    ridge = ""
    if _n_answers(triplets) < FEW * triplets.n_items * n_components:
        given.setdefault("regularization", RIDGE)
        ridge = f"; with a ridge of {given['regularization']:g}, as answers are few"
    return "ste", Message("the most likely map if squared distances are compared: ", why_not, ridge)


def _choosing(triplets: Triplets | TripletFile, name: str) -> str:
    """Return the name of the method that chooses the number of dimensions, if it can."""
    number = Message(Option("n_components"), " must be one number ")
    if name not in ("auto", "ordinal"):
        only = f": method ordinal alone chooses among several, and {name} was asked for"
        raise ValueError(Message(number, f"with method {name}", only))
    if not isinstance(triplets, Triplets):
        raise ValueError(
            Message(number, "for a file that is larger than memory: none is chosen there")
        )
    return "ordinal"


def _n_answers(triplets: Triplets | TripletFile) -> float:
    """Rows counted by their weight, where that is known without reading a file."""
    weight = getattr(triplets, "weight", None)
    return len(triplets) if weight is None else float(weight.sum())
