"""The questions that place a new item with few answers."""

import csv
import warnings

import numpy as np
import pytest
from typer.testing import CliRunner

from ordinate import STE, PowerEmbedding, Triplets, asking, load, sample_points, sample_triplets
from ordinate.asking import new_items
from ordinate.cli import app
from ordinate.kernels import losses

N = 40


@pytest.fixture(scope="module")
def truth():
    return 3 * sample_points(N + 2, random_state=0)


@pytest.fixture(scope="module")
def model(truth):
    return STE(random_state=0).fit(sample_triplets(truth[:N], 4000, random_state=0))


def answered(truth, questions, rng):
    anchor, first, second = truth[questions.T]
    nearer = ((anchor - second) ** 2).sum(axis=1) - ((anchor - first) ** 2).sum(axis=1)
    says_first = rng.random(len(questions)) < 1 / (1 + np.exp(-nearer))
    return np.where(says_first[:, None], questions, questions[:, [0, 2, 1]])


def test_the_first_question_cuts_the_map_in_halves(model):
    rows = asking.next_questions(model, 1, new=[N], random_state=0)
    (anchor, first, second) = rows[0]
    assert anchor == N
    points = model.embedding_
    to_first, to_second = (((points - points[item]) ** 2).sum(axis=1) for item in (first, second))
    assert 0.35 < (to_first < to_second).mean() < 0.65
    # and it is a clear question: the two are far apart
    assert ((points[first] - points[second]) ** 2).sum() > 2 * (points**2).sum(axis=1).mean()


def test_the_second_question_of_a_batch_cuts_across_the_first(model):
    points = model.embedding_
    _, first, second = asking.next_questions(model, 2, new=[N], random_state=0).T
    cut = points[first] - points[second]
    cut /= np.linalg.norm(cut, axis=1, keepdims=True)
    assert abs(cut[0] @ cut[1]) < 0.5


def test_the_cloud_is_the_posterior():
    """A grid of places gives the same mean and covariance as the weighted cloud."""
    points = 2 * sample_points(12, random_state=3)
    points -= points.mean(axis=0)
    rows = np.array([[12, 0, 1], [12, 2, 3], [4, 12, 5], [6, 7, 12]])
    loss = losses.get("ste")
    rng = np.random.default_rng(0)
    draws = [
        new_items._cloud(points, loss, rng, rows, (np.array([0.5, 0.2]), np.cov(points.T)))
        for _ in range(40)
    ]
    cloud = np.concatenate([places for places, _ in draws])
    belief = np.concatenate([weights for _, weights in draws]) / len(draws)
    axis = np.linspace(-8, 8, 161)
    grid = np.stack(np.meshgrid(axis, axis), axis=-1).reshape(-1, 2)
    spread = np.linalg.inv(np.cov(points.T))
    logarithm = -0.5 * np.einsum("ka,ab,kb->k", grid, spread, grid)
    for row in rows:
        place = [np.broadcast_to(points[i], grid.shape) if i < 12 else grid for i in row]
        near, far = (((place[0] - place[k]) ** 2).sum(axis=1) for k in (1, 2))
        logarithm += -np.log1p(np.exp(near - far))
    exact = np.exp(logarithm - logarithm.max())
    exact /= exact.sum()
    assert belief @ cloud == pytest.approx(exact @ grid, abs=0.05)
    seen, expected = (
        weights @ (places - weights @ places) ** 2
        for weights, places in ((belief, cloud), (exact, grid))
    )
    assert seen == pytest.approx(expected, rel=0.1)


def test_fewer_answers_than_at_random(model, truth):
    """12 chosen answers place most items better than 36 about random pairs do."""
    errors = {"chosen": [], "random": []}
    for seed in range(16):
        rng = np.random.default_rng(seed)
        moved = truth.copy()
        moved[N] = rng.multivariate_normal([0, 0], np.cov(truth.T))
        rows = np.empty((0, 3), int)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for _ in range(4):
                so_far = rows if len(rows) else None
                asked = asking.next_questions(model, 3, new=[N], answers=so_far, random_state=rng)
                rows = np.concatenate([rows, answered(moved, asked, rng)])
            pairs = np.array([rng.choice(N, 2, replace=False) for _ in range(36)])
            other = answered(moved, np.column_stack([np.full(36, N), pairs]), rng)
            turned = _aligned(model.embedding_, truth[:N])
            for way, given in (("chosen", rows), ("random", other)):
                place = turned(model.place(given).points[0])
                errors[way].append(((place - moved[N]) ** 2).sum())
    assert np.median(errors["chosen"]) < np.median(errors["random"])


def _aligned(points, truth):
    middle, aim = points.mean(axis=0), truth.mean(axis=0)
    u, s, v = np.linalg.svd((points - middle).T @ (truth - aim))
    scale = s.sum() / ((points - middle) ** 2).sum()
    return lambda place: aim + scale * (place - middle) @ (u @ v)


def test_several_new_items_share_the_budget(model):
    asked = asking.choose_questions(
        model, 21, new=[N, N + 1], repeats=0.1, checks=0.1, random_state=0
    )
    new = asked.rows[np.isin(asked.source, ["active", "random"])]
    assert np.bincount(new[:, 0])[N:].tolist() == [8, 9]
    assert (new[:, 1:] < N).all()
    assert set(asked.source) == {"active", "repeat", "check"}
    asked = asking.choose_questions(model, 20, new=[N], random_share=0.5, repeats=0, checks=0)
    assert (asked.source == "random").sum() == 10


def test_no_question_about_a_new_item_occurs_twice():
    model = STE(random_state=0).fit(sample_triplets(sample_points(5, random_state=0), 200))
    asked = asking.choose_questions(
        model, 20, new=[5, 6], random_share=0.5, repeats=0, checks=0, random_state=0
    )
    assert len({(row[0], *sorted(row[1:])) for row in asked.rows.tolist()}) == 20
    assert np.bincount(asked.rows[:, 0])[5:].tolist() == [10, 10]


def test_answers_about_other_items_do_not_matter(model, truth):
    rng = np.random.default_rng(0)
    about = answered(
        truth, np.column_stack([np.full(9, N), *rng.permutation(18).reshape(2, 9)]), rng
    )
    others = np.array([[1, 2, 3], [N + 1, 4, 5], [N, 4, N + 1]])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        one, two = (
            asking.next_questions(model, 4, new=[N], answers=rows, random_state=0)
            for rows in (about, np.concatenate([about, others[:1]]))
        )
        asking.next_questions(model, 4, new=[N, N + 1], answers=others, random_state=0)
    assert (one == two).all()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"new": [3]}, r"new names items that are on the map: 3. Ask about these with about"),
        ({"new": [99]}, r"new ones go on from 40; got 99"),
        ({"new": []}, "new must name different items"),
        ({"new": [N, N]}, "new must name different items"),
        ({"new": [N], "about": [1]}, "about and new do not go together"),
        ({"answers": [[N, 1, 2]]}, "answers are about new items: name these with new"),
    ],
)
def test_what_cannot_be_is_refused(model, options, message):
    with pytest.raises(ValueError, match=message):
        asking.next_questions(model, 5, **options)


def test_more_than_all_pairs_are_refused():
    model = STE(random_state=0).fit(sample_triplets(sample_points(4, random_state=0), 90))
    assert len(asking.next_questions(model, 6, new=[4])) == 6
    with pytest.raises(ValueError, match="there are 6 different questions, and 7 are wanted"):
        asking.next_questions(model, 7, new=[4])


def test_one_dimension_and_the_power_family():
    points = 3 * sample_points(20, 1, random_state=0)
    triplets = sample_triplets(points, 1500, random_state=0)
    model = PowerEmbedding(1, power=0.5, slope=4.0, lapse=0.05, random_state=0).fit(triplets)
    rows = asking.next_questions(model, 3, new=[20], random_state=0)
    assert rows.shape == (3, 3)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        again = asking.next_questions(model, 3, new=[20], answers=rows, random_state=0)
    assert (again[:, 0] == 20).all()


def test_from_the_command_line(tmp_path, monkeypatch):
    """Ask about an item, answer, ask again, and place it."""
    monkeypatch.chdir(tmp_path)
    run = CliRunner().invoke
    truth = 3 * sample_points(16, random_state=0)
    names = [f"thing {k}" for k in range(15)] + ["löwe"]
    first = sample_triplets(truth[:15], 900, random_state=0)
    STE(random_state=0).fit(Triplets(first.rows, items=names[:15])).save("map")
    rng = np.random.default_rng(0)
    for step, more in enumerate(([], ["--answers", "answers.csv"])):
        arguments = ["ask", "--after", "map", "--new", "löwe", "--budget", "8", *more]
        said = run(app, [*arguments, "-o", f"{step}.csv", "--seed", str(step), "--checks", "0"])
        assert said.exit_code == 0, said.output
        with open(f"{step}.csv", encoding="utf-8") as file:
            table = list(csv.DictReader(file))
        for row in table:
            ids = np.array([[names.index(row[k]) for k in ("anchor", "first", "second")]])
            row["response"] = names[answered(truth, ids, rng)[0, 1]]
        assert {row["anchor"] for row in table} == {"löwe"}
        with open("answers.csv", "a", encoding="utf-8", newline="") as file:
            writer = csv.DictWriter(file, table[0])
            if not step:
                writer.writeheader()
            writer.writerows(table)
    said = run(app, ["place", "map", "answers.csv", "-o", "grown", "--append"])
    assert said.exit_code == 0, said.output
    assert load("grown").items_.tolist() == names
    said = run(app, ["ask", "--after", "map", "--about", "löwe", "--budget", "8", "-o", "x.csv"])
    assert "--new asks about items that are to be added" in " ".join(said.output.split())
    said = run(app, ["ask", "--after", "map", "--new", "thing 3", "--budget", "8", "-o", "x.csv"])
    assert "Ask about these with --about" in " ".join(said.output.split())
