"""What to ask next: the error of maps against the number of answers, for three ways of asking.

``bench_asking.py errors --out errors.jsonl`` simulates people who answer with noise, and adds a
line for each cell, seed and way that is not in the file yet, so that it can be stopped and resumed;
``--items``, ``--dimensions``, ``--clearness``, ``--noise``, ``--seeds`` and ``--ways`` choose
cells, ``--minutes`` stops it. ``bench_asking.py table errors.jsonl`` makes a table of them.
*active* is ``ordinate.asking.next_questions``, *random* draws uniformly, and *salmon* draws an
anchor at random and asks about the pair whose answer tells most about where the anchor lies, given
the answers about it so far and every item's place as a candidate. All see the same first answers,
and the same ones as long as active questions are drawn at random; maps grow by ``partial_fit``.
Errors are relative Procrustes errors, scaled.

``bench_asking.py replay FILE --out held_out.jsonl`` asks real answers: only questions that the file
has an answer to, and the accuracy is that on answers of its own that nobody asked for.
``bench_asking.py gains held_out.jsonl`` makes a table of them.

``bench_asking.py large`` compares a pilot and landmarks on the rim with uniform questions, and
``bench_asking.py times`` prints the time of a batch.
"""

import argparse
import copy
import json
import time
import warnings
from functools import partial
from itertools import product
from pathlib import Path

import numpy as np
from _measure import best_time, heading
from scipy.special import entr

from ordinate import (
    STE,
    PowerEmbedding,
    Triplets,
    as_triplets,
    asking,
    procrustes_error,
    sample_points,
    sample_triplets,
)
from ordinate.asking.designs import draw_questions, question_code
from ordinate.data.simulate import pair_distances
from ordinate.evaluation.metrics import accuracy
from ordinate.kernels import losses

SCALES = {"clear": 10.0, "middling": 3.0, "noisy": 1.0}  # of points at a mean squared distance of 1
MARKS = (
    3,
    4,
    5.5,
    7.5,
    10,
    14,
    20,
    28,
    40,
)  # answers per coordinate; a batch from each to the next
SHOWN = (5.5, 10, 20, 40)  # in tables
WAYS = ("random", "active", "salmon")
NOISES = {"btl": "BTL", "power": "power 1/2, lapses"}
POWER = {"power": 0.5, "slope": 4.0, "lapse": 0.05}
REPLAYED = (3, 4, 5.5, 7.5, 10, 14, 20, 28, 40, 56, 80)
PILOT = 0.35  # share of the answers before landmarks are chosen
PAIRS = 40  # among which salmon's rule chooses


class Crowd:
    """People who know the truth and answer with noise."""

    def __init__(self, n: int, d: int, scale: float, noise: str, seed: int) -> None:
        self.points = scale * sample_points(n, d, random_state=seed)
        self.loss = losses.get("power", **POWER) if noise == "power" else losses.get("ste")
        self.rng = np.random.default_rng([seed, 1])

    def answer(self, questions: np.ndarray) -> np.ndarray:
        """Return the questions with the item that is called nearer in the second place."""
        anchor, first, second = questions.T
        near = pair_distances(self.points, anchor, first)
        far = pair_distances(self.points, anchor, second)
        says_first = self.rng.random(len(questions)) < self.loss.probability(near, far)
        return np.where(says_first[:, None], questions, questions[:, [0, 2, 1]])

    def model(self) -> STE | PowerEmbedding:
        """Return a model that knows how people answer, but nothing about the map."""
        d = self.points.shape[1]
        options = {"regularization": 1.0, "random_state": 0}
        if self.loss.name == "power":
            return PowerEmbedding(d, **POWER, **options)
        return STE(d, **options)


def ridge(model: STE | PowerEmbedding) -> float:
    """Return that of a normal prior whose variance is the map's own, errors included."""
    spread = (model.embedding_**2).sum() + np.trace(model.covariance_, axis1=1, axis2=2).sum()
    return model.embedding_.size / spread


def by_salmon(
    model, loss, rows: np.ndarray, size: int, rng: np.random.Generator, among: np.ndarray | None
) -> np.ndarray:
    """Draw anchors; ask of each the pair that tells most about which item's place is its own."""
    points, n = model.embedding_, len(model.embedding_)
    distance = ((points[:, None] - points) ** 2).sum(axis=2)
    anchors = rng.integers(n, size=size) if among is None else rng.permutation(among[:, 0])[:size]
    asked = []
    for anchor, times in enumerate(np.bincount(anchors, minlength=n)):
        near, far = rows[rows[:, 0] == anchor, 1:].T
        z = loss.argument(distance[:, near], distance[:, far])
        logarithm = -loss.penalty.value(z, *loss.penalty_shape).sum(axis=1)
        belief = np.exp(logarithm - logarithm.max())
        likely = belief > 1e-4
        belief = belief[likely] / belief[likely].sum()
        if not times:
            continue
        if among is None:
            pairs = draw_questions(n, 2 * PAIRS * times, rng)[:, 1:]
            pairs = pairs[(pairs != anchor).all(axis=1)]
        else:
            pairs = rng.permutation(among[among[:, 0] == anchor, 1:])
        pairs = pairs[: PAIRS * times]
        first = loss.probability(*distance[likely][:, pairs.T].swapaxes(0, 1))
        mean = belief @ first
        gain = entr(mean) + entr(1 - mean) - belief @ (entr(first) + entr(1 - first))
        for part in np.array_split(np.arange(len(pairs)), times):
            asked.append([anchor, *pairs[part[gain[part].argmax()]]])
    return np.array(asked)


def ask(way: str, model, loss, rows: np.ndarray, size: int, rng, among=None) -> np.ndarray:
    """Return questions, chosen in one of three ways."""
    if way == "salmon":
        return by_salmon(model, loss, rows, size, rng, among)
    share = {"random_share": 1.0} if way == "random" else {}
    return asking.next_questions(model, size, random_state=rng, among=among, **share)


def errors(
    n: int, d: int, clearness: str, noise: str, seed: int, ways: tuple[str, ...] = WAYS
) -> dict[str, list[float]]:
    """Relative errors at every mark, for each way of asking."""
    begun = Crowd(n, d, SCALES[clearness], noise, seed)
    first = draw_questions(n, round(MARKS[0] * d * n), np.random.default_rng([seed, 2]))
    rows = begun.answer(first)
    model = begun.model().fit(Triplets(rows, n_items=n))
    model.set_params(regularization=ridge(model)).fit(Triplets(rows, n_items=n))
    return {way: _errors(way, begun, rows, model, seed) for way in ways}


def _errors(way: str, begun: Crowd, rows: np.ndarray, model, seed: int) -> list[float]:
    crowd, rng = copy.deepcopy(begun), np.random.default_rng([seed, 3])
    model, fitted = crowd.model(), model
    vars(model).update(vars(fitted))  # copies have no answers
    found = []
    for k, mark in enumerate(MARKS):
        if k:
            size = round(mark * crowd.points.size) - len(rows)
            more = crowd.answer(ask(way, model, crowd.loss, rows, size, rng))
            rows = np.concatenate([rows, more])
            model.set_params(regularization=ridge(model)).partial_fit(more)
        error = procrustes_error(model.embedding_, crowd.points, scale=True, relative=True)
        found.append(round(error, 5))
    return found


def measure(given: argparse.Namespace) -> None:
    """Add lines for cells, seeds and ways that are not in the file yet."""
    until = time.monotonic() + 60 * given.minutes
    done = {tuple(line["cell"]): line["errors"] for line in _lines(given.out)}
    cells = product(given.items, given.dimensions, given.clearness, given.noise)
    for *cell, seed in ((*cell, seed) for cell in cells for seed in range(given.seeds)):
        ways = tuple(way for way in given.ways if way not in done.get((*cell, seed), {}))
        if not ways or time.monotonic() > until:
            continue
        line = {"cell": [*cell, seed], "errors": errors(*cell, seed, ways)}
        with Path(given.out).open("a") as file:
            file.write(json.dumps(line) + "\n")


def _lines(path: str) -> list[dict]:
    """Return a line for each cell and seed of a file, with all ways of asking; the last counts."""
    file, found = Path(path), {}
    for text in file.read_text().splitlines() if file.exists() else []:
        line = json.loads(text)
        before = found.setdefault(tuple(line["cell"]), line)
        for key in {"errors", "accuracies"} & line.keys():
            before[key] |= line[key]
    return [*found.values()]


def needed(pairs: np.ndarray) -> str:
    """Answers per coordinate for random's last error, on a line between marks, in words."""
    mean, random = pairs.mean(axis=0)
    below = np.flatnonzero(mean <= random[-1])
    if len(below) == 0:
        return f"more than {MARKS[-1]}"
    k = int(below[0])
    share = np.log(mean[k - 1] / random[-1]) / np.log(mean[k - 1] / mean[k])
    return f"{MARKS[k - 1] * (MARKS[k] / MARKS[k - 1]) ** share:.1f}"


def table(given: argparse.Namespace) -> None:
    """Print mean errors, the answers needed, and how much worse than random questions ever are."""
    heading("The next questions: relative errors, at random and chosen")
    print("| n, d | answers | model | seeds |", " | ".join(map(str, SHOWN)), end=" ")
    print("| needed: chosen | salmon's rule (seeds) | at worst |")
    print("|---|---|---|---|" + "---|" * (len(SHOWN) + 3))
    cells: dict[tuple, list[dict]] = {}
    for line in _lines(given.file):
        cells.setdefault(tuple(line["cell"][:4]), []).append(line["errors"])
    for (n, d, clearness, noise), runs in sorted(cells.items()):
        pairs = {
            way: np.array([[run[way], run["random"]] for run in runs if way in run])
            for way in ("active", "salmon")
        }
        active, random = pairs["active"].swapaxes(0, 1)
        worse = active - 1.05 * random
        two_errors = 2 * worse.std(axis=0, ddof=1) / np.sqrt(len(worse))
        worst = ((worse.mean(axis=0) - two_errors) / random.mean(axis=0)).max()
        places = [MARKS.index(mark) for mark in SHOWN]
        means = zip(random.mean(axis=0)[places], active.mean(axis=0)[places], strict=True)
        print(
            f"| {n}, {d} | {clearness} | {NOISES[noise]} | {len(runs)} |",
            " | ".join(f"{one:.3f} {other:.3f}".replace("0.", ".") for one, other in means),
            f"| {needed(pairs['active'])} |",
            f"{needed(pairs['salmon'])} ({len(pairs['salmon'])})" if len(pairs["salmon"]) else "",
            f"| {worst:+.0%} |",
            flush=True,
        )
    print(
        f"\nneeded: answers per coordinate for the error of random questions at {MARKS[-1]}. at "
        "worst: by how much the error of chosen questions exceeds 1.05 times that of random ones "
        "and two standard errors, at any number of answers; none may be above 0."
    )


class Pool:
    """Real answers, each to be had once, by asking its question."""

    def __init__(self, rows: np.ndarray, n: int, rng: np.random.Generator) -> None:
        self.n, self.rows = n, rng.permutation(rows)
        code = question_code(self.rows, n)
        order = np.argsort(code, kind="stable")
        self.code, first = np.unique(code[order], return_index=True)
        self.answers = np.split(order, first[1:])
        self.used = np.zeros(len(self.code), int)

    def questions(self) -> np.ndarray:
        """Return the questions that can still be asked."""
        places = zip(self.answers, self.used, strict=True)
        left = [answers[used] for answers, used in places if used < len(answers)]
        return self.rows[left]

    def answer(self, questions: np.ndarray) -> np.ndarray:
        """Return the next answer to each question."""
        places = np.searchsorted(self.code, question_code(questions, self.n))
        found = [self.answers[place][self.used[place]] for place in places]
        self.used[places] += 1
        return self.rows[found]


def replay(given: argparse.Namespace) -> None:
    """Add lines with held-out accuracies of a file's answers, asked in three ways."""
    triplets = as_triplets(given.file)
    if given.answers:
        triplets = Triplets(triplets.rows, answer=np.load(given.answers))
    n, d = triplets.n_items, given.dimensions
    name = given.name or Path(given.file).parent.name
    done = {tuple(line["cell"]) for line in _lines(given.out)}
    for seed in range(given.seeds):
        if (name, d, seed) in done:
            continue
        train, test = triplets.split(0.2, random_state=seed)
        found = {way: _replayed(way, train.rows, test, n, d, seed) for way in WAYS}
        line = {"cell": [name, d, seed], "accuracies": found, "marks": REPLAYED}
        with Path(given.out).open("a") as file:
            file.write(json.dumps(line) + "\n")
        print(line, flush=True)


def gains(given: argparse.Namespace) -> None:
    """Print accuracies of random questions, and by how much more others have, in per cent."""
    heading("Real answers: per cent of unseen answers predicted; others over random, paired")
    shown = (*SHOWN, REPLAYED[-1])
    print("| set, d | splits | asked |", " | ".join(map(str, shown)), "|")
    print("|---|---|---|" + "---|" * len(shown))
    sets: dict[tuple, list[dict]] = {}
    for line in _lines(given.file):
        sets.setdefault(tuple(line["cell"][:2]), []).append(line["accuracies"])
    places = [REPLAYED.index(mark) for mark in shown]
    for (name, d), runs in sets.items():
        found = {way: 100 * np.array([run[way] for run in runs])[:, places] for way in WAYS}
        words = [f"{mean:.1f}" for mean in found["random"].mean(axis=0)]
        print(f"| {name}, {d} | {len(runs)} | random |", " | ".join(words), "|")
        for way in WAYS[1:]:
            more = found[way] - found["random"]
            spread = more.std(axis=0, ddof=1) / np.sqrt(len(more))
            both = zip(more.mean(axis=0), spread, strict=True)
            words = [f"{mean:+.1f} ± {error:.1f}" for mean, error in both]
            print(f"| | | {way} |", " | ".join(words), "|")


def _replayed(way: str, rows: np.ndarray, test: Triplets, n: int, d: int, seed: int) -> list:
    rng = np.random.default_rng([seed, 3])
    pool = Pool(rows, n, np.random.default_rng([seed, 2]))
    model, asked, found = PowerEmbedding(d, **POWER, regularization=1.0, random_state=0), None, []
    for mark in REPLAYED:
        size = round(mark * d * n) - (0 if asked is None else len(asked))
        left = pool.questions()
        if size > len(left):
            break
        if asked is None:
            questions = np.random.default_rng([seed, 4]).permutation(left)[:size]
        else:
            questions = ask(way, model, model._loss(d), asked, size, rng, left)
        more = pool.answer(questions)
        asked = more if asked is None else np.concatenate([asked, more])
        if hasattr(model, "embedding_"):
            model.set_params(regularization=ridge(model))
        model.partial_fit(Triplets(more, n_items=n))
        found.append(round(accuracy(model.embedding_, test).accuracy, 5))
    return found


def large(given: argparse.Namespace) -> None:
    """Compare a pilot and landmarks on the rim with uniform questions, at equal numbers."""
    heading("Very many items: a pilot, and then landmarks on the rim")
    print("| n | d | answers | per coordinate | uniform: squared error | rim | ratio |")
    print("|---|---|---|---|---|---|---|")
    n, d = given.items, 2
    cases = product(given.clearness, given.per_coordinate, range(given.seeds))
    for clearness, per, seed in cases:
        crowd = Crowd(n, d, SCALES[clearness], "btl", seed)
        points, m = crowd.points, round(per * d * n)
        uniform = STE(d, random_state=0).fit(sample_triplets(points, m, random_state=seed))
        pilot = sample_triplets(points, round(PILOT * m), random_state=seed + 1)
        model = STE(d, random_state=0).fit(pilot)
        rest = asking.choose_questions(
            model,
            m - len(pilot),
            landmarks=given.landmarks,
            random_share=0,
            repeats=0,
            checks=0,
            random_state=seed,
        )
        rows = np.concatenate([pilot.rows, crowd.answer(rest.rows)])
        rim = STE(d, init=model.embedding_, random_state=0).fit(Triplets(rows, n_items=n))
        errors = [
            procrustes_error(found.embedding_, points, scale=True, relative=True) ** 2
            for found in (uniform, rim)
        ]
        print(
            f"| {n:,} | {d} | {clearness} | {per:g} | {errors[0]:.5f} | {errors[1]:.5f} | "
            f"{errors[1] / errors[0]:.2f} |",
            flush=True,
        )


def planned(given: argparse.Namespace) -> None:
    """Hold the errors that plans predict against those of random questions in a file."""
    heading("Plans: the error predicted over the error simulated, by answers per coordinate")
    shown = [mark for mark in MARKS if mark >= asking.planning.SIMULATED[0]]
    print("| n, d | answers | model | seeds |", " | ".join(map(str, shown)), "|")
    print("|---|---|---|---|" + "---|" * len(shown))
    cells: dict[tuple, dict[int, list[float]]] = {}
    for line in _lines(given.file):
        cells.setdefault(tuple(line["cell"][:4]), {})[line["cell"][4]] = line["errors"]["random"]
    for (n, d, clearness, noise), by_seed in sorted(cells.items()):
        runs = [*by_seed.values()]
        crowds = [Crowd(n, d, SCALES[clearness], noise, seed) for seed in by_seed]
        pilot = crowds[0].model()
        pilot.embedding_ = np.concatenate([crowd.points for crowd in crowds])  # tells their size
        plan = asking.plan_study(n, d, pilot=pilot)
        found = dict(zip(MARKS, np.mean(runs, axis=0), strict=True))
        ratios = " | ".join(f"{plan.error_of(mark * n * d) / found[mark]:.2f}" for mark in shown)
        print(f"| {n}, {d} | {clearness} | {NOISES[noise]} | {len(runs)} | {ratios} |", flush=True)


def times(given: argparse.Namespace) -> None:
    """Print how long a batch takes, by the clock and of processors, which may do other work."""
    heading("Time of a batch")
    print("| n | questions | s | processor s | covariances, processor s |")
    print("|---|---|---|---|---|")
    for n, size in ((300, 600), (100_000, 20_000)):
        points = 3 * sample_points(n, 2, random_state=0)
        model = STE(random_state=0).fit(sample_triplets(points, 40 * n, random_state=0))
        began = time.process_time()
        model.covariance_  # noqa: B018 - found on demand
        once = time.process_time() - began
        batch = partial(asking.next_questions, model, size, random_state=0)
        took, clock = best_time(batch), time.process_time()
        batch()
        print(
            f"| {n:,} | {size:,} | {took:.3f} | {time.process_time() - clock:.3f} | {once:.3f} |",
            flush=True,
        )


def arguments() -> argparse.Namespace:
    """Return what the command line says."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    commands = parser.add_subparsers(required=True)
    one = commands.add_parser("errors")
    one.add_argument("--items", nargs="+", type=int, default=[30, 60, 300])
    one.add_argument("--dimensions", nargs="+", type=int, default=[2, 5])
    one.add_argument("--clearness", nargs="+", default=list(SCALES), choices=SCALES)
    one.add_argument("--noise", nargs="+", default=["btl", "power"], choices=["btl", "power"])
    one.add_argument("--ways", nargs="+", default=list(WAYS), choices=WAYS)
    one.add_argument("--seeds", type=int, default=20)
    one.add_argument("--minutes", type=float, default=np.inf)
    one.add_argument("--out", required=True)
    one.set_defaults(run=measure)
    real = commands.add_parser("replay")
    real.add_argument("file")
    real.add_argument("--answers", help=".npy file with the answer that each row belongs to")
    real.add_argument("--name")
    real.add_argument("--dimensions", type=int, default=2)
    real.add_argument("--seeds", type=int, default=5)
    real.add_argument("--out", required=True)
    real.set_defaults(run=replay)
    more = commands.add_parser("gains")
    more.add_argument("file")
    more.set_defaults(run=gains)
    many = commands.add_parser("large")
    many.add_argument("--items", type=int, default=100_000)
    many.add_argument("--per-coordinate", nargs="+", type=float, default=[60])
    many.add_argument("--clearness", nargs="+", default=["noisy"], choices=SCALES)
    many.add_argument("--landmarks", type=int, default=8)
    many.add_argument("--seeds", type=int, default=3)
    many.set_defaults(run=large)
    two = commands.add_parser("table")
    two.add_argument("file")
    two.set_defaults(run=table)
    three = commands.add_parser("plans")
    three.add_argument("file")
    three.set_defaults(run=planned)
    commands.add_parser("times").set_defaults(run=times)
    return parser.parse_args()


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    given = arguments()
    given.run(given)
