"""How sure a map is: the standard errors of ``covariance_`` against those of a bootstrap.

``bench_bootstrap.py [DIR] [--sets NAMES] [--dimensions 2] [--maps 200] [--by answer]``, DIR holding
the published sets as their authors left them; without it, simulated odd-one-out answers.
"""

import argparse
import time
import warnings
from pathlib import Path

import numpy as np
from _measure import heading
from bench_people import SETS

from ordinate import STE, OrdinalEmbedding, Triplets, bootstrap, sample_points
from ordinate.data.simulate import pair_distances
from ordinate.evaluation.uncertainty import map_size, place_errors

METHODS = {"ste": STE, "ordinal": OrdinalEmbedding}


def odd_one_out(n: int = 60, n_answers: int = 24_000, seed: int = 0) -> Triplets:
    """Answers to which of three does not belong: two rows each, which depend on each other."""
    points, rng = sample_points(n, random_state=seed), np.random.default_rng(seed)
    three = np.array([rng.choice(n, 3, replace=False) for _ in range(n_answers)])
    a, b, c = three.T
    # The pair that is kept is the likelier, the closer the two are.
    kept = np.column_stack([pair_distances(points, *pair) for pair in ((b, c), (a, c), (a, b))])
    odd = (-kept + rng.gumbel(size=kept.shape)).argmax(axis=1)
    rest = np.array([[1, 2], [0, 2], [0, 1]])[odd]
    rows = np.arange(n_answers)
    one, other, odd = three[rows, rest[:, 0]], three[rows, rest[:, 1]], three[rows, odd]
    both = np.stack([np.column_stack([one, other, odd]), np.column_stack([other, one, odd])], 1)
    return Triplets(both.reshape(-1, 3), answer=np.repeat(rows, 2))


def compare(triplets: Triplets, method: str, d: int, n_boot: int, by: str) -> list:
    """Fit, and measure both errors of each item's place and coordinates."""
    model = METHODS[method](d, random_state=0).fit(triplets)
    ours = model.covariance(by)
    # Of the processor, over all threads: the bootstrap runs on several, and machines are busy.
    times = [time.process_time()]
    for _ in range(3):
        model.covariance(by)
        times.append(time.process_time())
    seconds = float(np.diff(times).min())
    began = time.process_time()
    found = bootstrap(model, triplets, n_boot=n_boot, by=by, random_state=0, verbose=1)
    slow = time.process_time() - began
    ratio = place_errors(ours) / place_errors(found.covariance)
    low, high = np.quantile(ratio, [0.05, 0.95])
    size = map_size(model.embedding_)
    typical = np.median(place_errors(found.covariance)) / size
    apart = np.median(np.abs(ratio - 1))
    return [typical, np.median(ratio), low, high, apart, seconds, slow, slow / seconds]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path, nargs="?")
    parser.add_argument("--sets", nargs="+", default=["food100", "letters_latin"], choices=SETS)
    parser.add_argument("--methods", nargs="+", default=["ste"], choices=METHODS)
    parser.add_argument("--dimensions", nargs="+", type=int, default=[2])
    parser.add_argument("--maps", type=int, default=200)
    parser.add_argument("--by", default="answer", choices=["answer", "participant"])
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    heading(f"Standard errors of places: covariance_ against {given.maps} bootstrap maps")
    print(
        "| set | method | d | error / map's size | ratio, median | 5 % | 95 % | apart by, median | "
        "CPU seconds | bootstrap's | times |\n|---|---|---|---|---|---|---|---|---|---|---|"
    )
    sets = {name: SETS[name] for name in given.sets} if given.data else {}
    for name, read in (sets or {"simulated": lambda _: odd_one_out()}).items():
        triplets = read(given.data)
        for method in given.methods:
            for d in given.dimensions:
                row = compare(triplets, method, d, given.maps, given.by)
                cells = [f"{row[0]:.1%}", *(f"{x:.2f}" for x in row[1:4]), f"{row[4]:.1%}"]
                cells += [f"{row[5]:.3f}", f"{row[6]:.1f}", f"{row[7]:.0f}"]
                print(f"| {name} | {method} | {d} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
