"""Guards that rarely act: each is met here by a case that goes wrong without it."""

import errno
import json
import os

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import ordinate
from ordinate import STE, Triplets, ondisk, procrustes_error, sample_points, sample_triplets
from ordinate._base.threads import blocks, in_order
from ordinate.algorithms.landmark import recover
from ordinate.algorithms.landmark_choice import choose_landmarks
from ordinate.algorithms.mean_field import mean_field
from ordinate.algorithms.mixing import MIXING, contraction, well_mixed
from ordinate.algorithms.optimise import HALVINGS, minimise
from ordinate.algorithms.ranking import Scores, rank_columns
from ordinate.algorithms.spectral import spectral_start
from ordinate.data.advice import problems
from ordinate.evaluation.held_out import hold_out
from ordinate.files.ondisk.files import read_into
from ordinate.kernels import backends, losses, noise
from ordinate.passes import NO_WEIGHT, MemoryColumns, MemoryTriplets
from ordinate.passes.columns import ColumnPasses
from ordinate.passes.sampling import Runs
from ordinate.passes.triplets import MOST_COPIES


def test_one_step_is_not_enough_where_opponents_are_half_at_random():
    """Items meet those of like rank: mixed well enough to be ranked from counts, but not in one step.

    A single step would leave three times the statistical error, and call it converged.
    """
    rng = np.random.default_rng(0)
    n, m = 400, 80_000
    true = np.linspace(-2, 2, n)
    a = rng.integers(n, size=m)
    b = a + rng.integers(1, int(0.4 * n), size=m) * rng.choice([-1, 1], m)
    a, b = a[(b >= 0) & (b < n)], b[(b >= 0) & (b < n)]
    b_wins = rng.random(len(a)) < 1 / (1 + np.exp(true[a] - true[b]))
    pairs = np.column_stack([np.where(b_wins, a, b), np.where(b_wins, b, a)]).astype(np.int32)
    columns = MemoryColumns([pairs], [NO_WEIGHT], n, backends.load("numba"))
    btl = noise.get("btl")
    far, near = columns.counts()
    first = mean_field(far[0], near[0], btl).scores
    assert contraction(columns, first[None], btl)[0] < MIXING
    found = rank_columns(columns, btl)
    strict = rank_columns(columns, btl, regularization=found.regularization[0], tol=1e-14)
    statistical = (strict.scores[:, 0] - true).std()
    assert (found.scores - strict.scores).std() < 0.15 * statistical


@pytest.mark.parametrize(("per_item", "mixed"), [(7, True), (10, False)])
def test_fewer_than_eight_comparisons_per_item_cannot_show_how_they_mix(per_item, mixed):
    """A chain of 200 neighbours does not mix, which is only noticed where it can be told."""
    chain = np.arange(199).repeat(per_item)[: 100 * per_item]
    pairs = np.column_stack([chain, chain + 1]).astype(np.int32)
    columns = MemoryColumns([pairs], [NO_WEIGHT], 200, backends.load("numpy"))
    found, surely, _ = well_mixed(columns, np.zeros((1, 200)), noise.get("btl"))
    assert (found.tolist(), surely.tolist()) == ([mixed], [False])


def test_axes_within_the_noise_are_not_taken_at_their_word_by_lifting():
    """120 items, 10 dimensions, 66 unknowns: the errors of 12 maps have a median of 0.34.

    It is 0.42 with every positive eigenvalue as it is found, and 0.40 with none.
    """
    errors = []
    for seed in range(12):
        rng = np.random.default_rng(seed)
        X = sample_points(120, 10, random_state=rng)
        landmarks = np.sort(rng.choice(120, 26, replace=False))
        R = ((X[:, None] - X[landmarks]) ** 2).sum(axis=2) + 0.1 * rng.normal(size=(120, 26))
        R[landmarks, np.arange(26)] = 0
        scores = Scores(R, np.full(R.shape, 100.0), *[np.ones(1)] * 5, 1.0, np.ones(1))
        points = recover(scores, landmarks, 10, recovery="lift").points
        errors.append(procrustes_error(points, X, relative=True))
    assert np.median(errors) < 0.375


def test_landmarks_are_spread_out_and_not_just_those_with_most_comparisons():
    """Ten anchors at one end have the most; of five landmarks only one is among them."""
    points = np.r_[np.linspace(0, 0.3, 10), np.linspace(1, 4, 20)][:, None]
    crowd, others = range(10), [12, 17, 23, 29]
    rows = [
        sample_triplets(points, m * len(anchors), design="landmarks", landmarks=anchors,
                        random_state=0).rows
        for anchors, m in ((crowd, 700), (others, 500))
    ]  # fmt: skip
    chosen = choose_landmarks(Triplets(np.vstack(rows), n_items=30), 1, 5)
    assert chosen[1:].tolist() == others


class Spoilt(MemoryTriplets):
    """A store whose values are wrong for a while, after five calls."""

    n_calls, n_wrong, lowest = 0, 0, np.inf

    def wrong(self):
        """Return the wrong value."""
        return np.inf

    def loss(self, points, loss):
        """Return the value, right or wrong, and the gradient."""
        self.n_calls += 1
        value, gradient = super().loss(points, loss)
        if 5 < self.n_calls <= 5 + self.n_wrong:
            return self.wrong(), gradient
        self.lowest = min(self.lowest, value)
        return value, gradient


class Failing(Spoilt):
    """No step of one line search is any good."""

    n_wrong = HALVINGS


class Rising(Spoilt):
    """One step raises the value by a little."""

    n_wrong = 1

    def wrong(self):
        """Return a little more than the lowest value seen."""
        return self.lowest + 1e-6


@pytest.mark.parametrize("kind", [Failing, Rising])
def test_bad_steps_are_not_taken_and_not_the_end(kind):
    """Where what is remembered leads nowhere, the search begins anew from the blocks."""
    truth = sample_points(20, random_state=0)
    triplets = sample_triplets(truth, 2000, random_state=0)
    start = np.random.default_rng(0).normal(size=truth.shape)
    sound, spoilt = (
        minimise(store.from_triplets(triplets), losses.get("ste"), start)
        for store in (MemoryTriplets, kind)
    )
    assert sound.n_iter > 8
    assert sound.converged
    assert spoilt.converged
    assert (np.diff(spoilt.history) < 0).all()
    assert spoilt.history[-1] == pytest.approx(sound.history[-1], rel=1e-5)


class Kinked(MemoryTriplets):
    """The slope promises much, and from some call on any step brings next to nothing."""

    n_calls, caught = 0, range(20, 10**6)

    def loss(self, points, loss):
        """Return the value and the gradient."""
        self.n_calls += 1
        value, gradient = super().loss(points, loss)
        if self.n_calls == self.caught.start:
            self.value = value
        if self.n_calls in self.caught:
            return self.value - 1e-6 * (self.n_calls - self.caught.start), gradient
        return value, gradient


def test_a_descent_that_is_caught_in_a_kink_is_given_up():
    """Tiny steps that fall by a hair each would go on until the last of 500."""
    triplets = sample_triplets(sample_points(20, random_state=0), 2000, random_state=0)
    start = np.random.default_rng(0).normal(size=(20, 2))
    store = Kinked.from_triplets(triplets)
    found = minimise(store, losses.get("gnmds"), start)
    assert not found.converged
    assert found.n_iter < 50


def test_a_descent_that_leaves_a_kink_goes_on():
    triplets = sample_triplets(sample_points(20, random_state=0), 2000, random_state=0)
    start = np.random.default_rng(0).normal(size=(20, 2))
    sound = minimise(MemoryTriplets.from_triplets(triplets), losses.get("gnmds"), start)
    store = Kinked.from_triplets(triplets)
    store.caught = range(20, 100)
    found = minimise(store, losses.get("gnmds"), start)
    assert store.n_calls > store.caught.stop
    assert found.history[-1] == pytest.approx(sound.history[-1], rel=1e-3)


def test_answers_that_any_map_can_explain_end_the_fit():
    """Without noise the map grows and the loss vanishes, until nothing but zeros are divided."""
    triplets = sample_triplets(
        sample_points(20, random_state=0), 1500, noise="none", random_state=0
    )
    model = STE(regularization=0.0, tol=1e-6, max_iter=3000, random_state=0)
    with pytest.warns(UserWarning, match="sure of every answer"):
        model.fit(triplets)
    assert np.isfinite(model.embedding_).all()
    assert model.score(triplets) == 1


class Counted(MemoryColumns):
    """Columns that count the pairs their passes read, and those of their samples."""

    def __init__(self, *arguments, read=None):
        super().__init__(*arguments)
        self.read = [] if read is None else read

    def sample(self, size):
        """As in memory; what is read of it is counted here."""
        taken = super().sample(size)
        return Counted(taken.pairs, taken.weights, self.n_items, self.backend, read=self.read)

    coupling = ColumnPasses.coupling  # a pass for every product
    counts_and_sample = ColumnPasses.counts_and_sample  # by the sample above

    def _sum(self, kernel, arguments):
        self.read += [self.sizes[i] for i in arguments]
        return super()._sum(kernel, arguments)


@pytest.mark.parametrize(("per_item", "tol"), [(200, 2e-2), (200, 1e-6), (30, 2e-2)])
def test_passes_are_reported_as_they_are_read(per_item, tol):
    rng = np.random.default_rng(0)
    pairs = [rng.random((50 * per_item, 100)).argsort(axis=1)[:, :2].astype(np.int32) for _ in "ab"]
    columns = Counted(pairs, [NO_WEIGHT] * 2, 100, backends.load("numba"))
    found = rank_columns(columns, noise.get("btl"), tol=tol)
    assert found.n_passes == pytest.approx(sum(columns.read) / columns.sizes.sum())


@pytest.mark.parametrize("columns", [False, True])
def test_few_blocks_are_copied_ahead_whatever_the_number_of_threads(columns, monkeypatch):
    begun = []
    monkeypatch.setattr("ordinate.passes.triplets.BLOCK", 10)
    monkeypatch.setattr("ordinate.passes.columns.BLOCK", 10)
    triplets = sample_triplets(
        sample_points(20, random_state=0), 1000, design="landmarks", landmarks=[3], random_state=0
    )
    with ordinate.threads(50):
        if columns:
            store = MemoryColumns.from_triplets(triplets, np.array([3]))
            results = store.each_block(0, lambda rows, weight: begun.append(len(rows)))
        else:
            store = MemoryTriplets.from_triplets(triplets)
            results = store.each_block(lambda rows, weight: begun.append(len(rows)))
        next(results)
        results.close()
    assert len(begun) <= MOST_COPIES + 1


def test_numbers_that_json_lacks_are_not_kept(tmp_path):
    triplets = sample_triplets(sample_points(10, random_state=0), 500, random_state=0)
    model = STE(random_state=0).fit(triplets)
    model.loss_ = np.nan
    model.save(tmp_path / "model")
    record = json.loads((tmp_path / "model" / "model.json").read_text())
    assert "loss_" in record["not_kept"]
    assert not hasattr(ordinate.load(tmp_path / "model"), "loss_")


def test_a_disk_that_is_full_only_when_all_is_written_leaves_nothing(tmp_path, monkeypatch):
    """Disks of a network take what they have no room for, and say so when asked to keep it."""

    def full(_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="the disk is full .* nothing is left of it"):
        ondisk.write([[[0, 1, 2]]], tmp_path / "there", n_items=3)
    assert list(tmp_path.iterdir()) == []


def test_a_file_that_ends_too_early_is_an_error_and_not_zeros(tmp_path):
    path = tmp_path / "numbers"
    path.write_bytes(bytes(100))
    array = np.ones(10)
    read_into(path, array, 20)
    assert not array.any()
    with pytest.raises(
        ordinate.readers.ReadError, match="numbers is truncated: it ends after 100 bytes"
    ):
        read_into(path, array, 21)


def test_the_same_row_in_two_answers_is_no_copy():
    """All 60 questions about five items with both answers, four times, each its own answer."""
    rows = [(a, b, c) for a in range(5) for b in range(5) for c in range(5) if len({a, b, c}) == 3]
    found = problems(Triplets(rows * 4, answer=np.arange(240)))
    assert not [problem for problem in found if "same answer" in problem.what]


@given(st.integers(1, 3000), st.integers(1, 400), st.integers(1, 700))
def test_a_sample_read_in_blocks_is_the_sample_of_the_whole(n_rows, size, block):
    column = np.arange(n_rows)
    runs = Runs.of(n_rows, size)
    found = np.full(runs.n_rows, -1)
    for part in blocks(n_rows, block):
        places, rows = runs.between(part.start, part.stop)
        found[places] = column[part][rows]
    assert found.tolist() == runs.take(column).tolist()


def test_the_spectral_start_is_centred_and_of_size_one():
    """Items in no triplet lie in the middle, and count for neither."""
    rows = sample_triplets(sample_points(30, random_state=0), 3000, random_state=0).rows
    store = MemoryTriplets.from_triplets(Triplets(rows, n_items=40))
    found = spectral_start(store, 2, np.random.default_rng(0))
    assert not found.points[30:].any()
    assert found.points[:30].mean(axis=0) == pytest.approx(0, abs=1e-6)
    assert (found.points[:30] ** 2).sum(axis=1).mean() == pytest.approx(1)
    assert found.gap == pytest.approx(found.eigenvalues[1] / found.eigenvalues[2])


def test_information_is_never_negative_where_one_item_meets_all_others():
    """All it has are opponents far away: less than interpolation can tell from nothing."""
    far, near = np.zeros(21), np.zeros(21)
    far[1:11], near[11:] = 1e5, 1e5
    far[0] = near[0] = 1e6
    found = mean_field(far, near, noise.get("btl"))
    assert (found.information(found.scores[None]) >= 0).all()


@pytest.mark.parametrize(("answer", "unit"), [(None, "row"), (np.arange(200) // 2, "answer")])
def test_what_is_held_out_is_named(answer, unit):
    rows = sample_triplets(sample_points(10, random_state=0), 200, random_state=0).rows
    found, _ = hold_out(STE(max_iter=5, random_state=0), Triplets(rows, answer=answer), folds=2)
    assert found.how == f"each {unit} is predicted by a map of the others, in 2 parts"


def test_tasks_run_ahead_so_far_and_no_further():
    taken = []
    tasks = (taken.append(number) or number for number in range(100))
    results = in_order(lambda number: -number, tasks, workers=2, ahead=3)
    assert [next(results), len(taken)] == [0, 4]
    assert [next(results), len(taken)] == [-1, 5]
    assert list(results) == [-number for number in range(2, 100)]
