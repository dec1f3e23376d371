"""Figures of two maps, and of groups: nothing overlaps, nothing is cut, and what is left out is told."""

from types import SimpleNamespace

import numpy as np
import pytest
from matplotlib.collections import LineCollection

from ordinate import plot_map, sample_points
from ordinate.evaluation.comparison import Map, compare_maps
from ordinate.evaluation.group_gains import Gain
from ordinate.evaluation.groups import Group, Groups
from ordinate.figures.comparing import plot_comparison
from ordinate.figures.grouping import MOST_GROUPS, MOST_NAMED, plot_groups
from ordinate.figures.panels import LeftOut

LONG = "an item with a rather long label, number {}"


def model(points, items):
    return SimpleNamespace(embedding_=points, items_=np.array(items))


def groups_of(n, d, n_groups, lost=()):
    points = sample_points(n, d, random_state=0)
    items = [LONG.format(k) if k % 3 == 0 else f"it{k}" for k in range(n)]
    gain, groups = Gain(0.1, 0.01), []
    for g in range(n_groups):
        own = points + 0.05 * sample_points(n, d, random_state=g + 1)
        own[list(lost)] = np.nan
        rows = np.arange(100 - g)
        groups.append(Group(f"g{g}", rows, 100 - g, model(own, items), -0.5, -0.6, gain))
    common = model(points, items)
    return Groups(common, groups, {}, gain, "answer", 0.5, np.ones(n), False)


def boxes(texts):
    return [text.get_window_extent() for text in texts if text.get_text().strip()]


def assert_apart(found):
    for k, one in enumerate(found):
        for other in found[:k]:
            assert not one.padded(-1).overlaps(other.padded(-1))


def caption(figure):
    return " ".join(figure.texts[-1].get_text().split())


@pytest.mark.parametrize(("n", "d"), [(3, 2), (30, 2), (30, 3)])
def test_labels_of_groups_do_not_overlap_and_stay_in_their_panels(n, d):
    figure = plot_groups(groups_of(n, d, 4))
    figure.canvas.draw()
    assert len(figure.axes) == 4
    for axes in figure.axes:
        found = boxes(axes.texts)
        assert len(found) >= min(n, 20)
        assert_apart(found)
        frame = axes.get_window_extent().padded(2)
        assert all(frame.x0 <= box.x0 and box.x1 <= frame.x1 for box in found)
    assert ("Not shown: dimension 3" in caption(figure)) == (d == 3)
    assert figure.axes[0].get_xlim() == figure.axes[3].get_xlim()
    assert_apart(boxes([figure.texts[-1]]) + [axes.get_window_extent() for axes in figure.axes])


def test_groups_on_a_line_are_rows_with_lines_between_them():
    figure = plot_groups(groups_of(30, 1, 3, lost=[4]))
    figure.canvas.draw()
    labelled, rows = figure.axes
    assert_apart(boxes(labelled.texts))
    assert [text.get_text() for text in rows.texts] == [
        "all answers",
        "g0: 100 answers",
        "g1: 99 answers",
        "g2: 98 answers",
    ]
    pale = next(c for c in rows.collections if isinstance(c, LineCollection))
    paths = [path.vertices for path in pale.get_paths()]
    assert len(paths) == 30
    assert paths[0].shape == (4, 2)
    # The labelled line and the rows count alike.
    x = np.sort(labelled.collections[0].get_offsets()[:, 0])
    assert np.allclose(x, np.sort([path[0, 0] for path in paths]))


def test_what_a_figure_of_groups_does_not_show_is_told():
    figure = plot_groups(groups_of(5, 2, MOST_GROUPS + 2, lost=[1]))
    assert len(figure.axes) == MOST_GROUPS
    assert "Not shown: 2 smaller groups." in caption(figure)
    assert "it1" not in {text.get_text() for text in figure.axes[0].texts}
    figure = plot_groups(groups_of(MOST_NAMED + 1, 2, 1))
    assert f"Not shown: the labels of {MOST_NAMED + 1} items." in caption(figure)
    assert not figure.axes[0].texts
    figure = plot_groups(groups_of(MOST_NAMED, 2, 1))
    assert "of 300 labels of a panel (no room)" in caption(figure)


def test_pictures_are_called_as_on_other_maps():
    shown = ["oak", "elm", "yew", "fir", "fig", "{ash}"]
    names = [f"img/{name}.png" for name in shown]
    points = sample_points(6, 2, random_state=0)
    found = Groups(
        model(points, names),
        [Group("all", np.arange(9), 9, model(points, names), -0.5, -0.6, Gain(0.1, 0.01))],
        *({}, Gain(0.1, 0.01), "answer", 0.5, np.ones(6), False),
    )
    covariance = np.broadcast_to(1e-6 * np.eye(2), (6, 2, 2)).copy()
    moved = points + np.array([3, 0]) * (np.arange(6) == 5)[:, None]
    both = compare_maps(Map(names, points, covariance), Map(names, moved, covariance))
    for figure in (plot_groups(found), plot_comparison(both)):
        assert {text.get_text() for text in figure.axes[0].texts} >= {*shown}


def compared(d, size, n=20):
    points = sample_points(n, d, random_state=0)
    covariance = np.broadcast_to(size * np.eye(d), (n, d, d)).copy()
    second = points + 0.01 * sample_points(n, d, random_state=1)
    items = list(map(str, range(n)))
    return compare_maps(Map(items, points, covariance), Map(items, second, covariance))


def test_ellipses_of_a_comparison_are_whole():
    figure = plot_comparison(compared(2, 0.003))
    axes = figure.axes[0]
    drawn = next(c for c in axes.collections if hasattr(c, "_widths"))
    reach = np.maximum(drawn._widths, drawn._heights)[:, None]
    ends = drawn.get_offsets()[None] + np.array([-1, 1])[:, None, None] * reach
    limits = np.array([axes.get_xlim(), axes.get_ylim()])
    assert (ends >= limits[:, 0]).all()
    assert (ends <= limits[:, 1]).all()
    assert "Ellipses hold the second places of items that did not move" in caption(figure)
    assert "Not shown" not in caption(figure)


def test_ellipses_as_large_as_the_map_are_not_drawn_and_that_is_told():
    figure = plot_comparison(compared(2, 100.0))
    assert not any(hasattr(c, "_widths") for c in figure.axes[0].collections)
    assert "No ellipses are drawn" in caption(figure)


def test_ellipses_that_reach_beyond_the_frame_are_counted():
    points = sample_points(20, 2, random_state=0)
    covariance = np.broadcast_to(1e-4 * np.eye(2), (20, 2, 2)).copy()
    covariance[3] = 100 * np.eye(2)
    figure = plot_map(points, list("abcdefghijklmnopqrst"), covariance=covariance)
    assert "Not shown: 1 of 20 ellipses in full (no room)." in caption(figure)
    figure = plot_map(points[:, :1], covariance=covariance[:, :1, :1], ellipses=True)
    assert "Not shown: 1 of 20 bars in full (no room)." in caption(figure)


def test_two_lines_are_compared_without_a_word_of_arrows():
    figure = plot_comparison(compared(1, 1e-4), names=("young", "old"))
    labelled, rows = figure.axes
    assert [text.get_text() for text in rows.texts] == ["young", "old"]
    assert "Lines lead from the first map, young, to the second, old, which" in caption(figure)
    assert "Arrows" not in caption(figure)
    assert "Bars hold the second places" in caption(figure)
    assert len(labelled.texts) == 20


def test_labels_that_are_blank_are_not_counted_as_left_out():
    crowded = np.zeros((60, 2))
    crowded[0] = 1
    figure = plot_map(crowded, [LONG.format(k) if k < 30 else "" for k in range(60)])
    assert "of 30 labels (no room)" in caption(figure)
    assert LeftOut() == (0, 0, 0)
