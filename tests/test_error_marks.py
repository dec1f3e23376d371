"""Ellipses and error bars: on figures, in the report, and where they are left out."""

import json
import re

import numpy as np
import pytest
from matplotlib.collections import EllipseCollection, LineCollection, PathCollection
from PIL import Image

from ordinate import GNMDS, STE, html_report, plot_map, sample_points, sample_triplets
from ordinate.evaluation.bootstrap import Bootstrap
from ordinate.evaluation.uncertainty import ellipses, place_errors
from ordinate.figures.error_marks import MOST, fill_of
from ordinate.figures.plotting import save


def some_map(n=12, d=2, size=0.1):
    rng = np.random.default_rng(0)
    L = size * rng.normal(size=(n, d, d))
    return sample_points(n, n_components=d, random_state=0), L @ L.transpose(0, 2, 1)


def drawn(figure, kind=EllipseCollection):
    return [found for axes in figure.axes for found in axes.collections if isinstance(found, kind)]


def caption(figure):
    return " ".join(text.get_text() for text in figure.texts)


def test_each_item_has_its_ellipse():
    points, C = some_map()
    points[3] = C[3] = np.nan
    C[5] = np.inf  # a place, but nobody knows how sure
    figure = plot_map(points, covariance=C, colour=["a", "b"] * 6)
    shown = drawn(figure)
    centres = np.concatenate([each.get_offsets() for each in shown])
    kept = [row for row in range(12) if row not in (3, 5)]
    order = np.argsort(centres[:, 0])
    np.testing.assert_allclose(centres[order], points[kept][np.argsort(points[kept, 0])])
    found = ellipses(C[kept])
    widths = np.concatenate([each.get_widths() for each in shown])
    heights = np.concatenate([each.get_heights() for each in shown])
    angles = np.concatenate([each.get_angles() for each in shown])
    by_place = np.argsort(points[kept, 0])
    np.testing.assert_allclose(widths[order], 2 * found.axes[by_place, 0])
    np.testing.assert_allclose(heights[order], 2 * found.axes[by_place, 1])
    np.testing.assert_allclose(angles[order], found.angle[by_place])
    assert len({tuple(each.get_edgecolor()[0]) for each in shown}) == 2  # those of the categories
    assert "Ellipses hold the true places, each with 95% confidence." in caption(figure)


def test_what_has_none_is_drawn_as_ever():
    points, C = some_map()
    plain = plot_map(points)
    assert not drawn(plain)
    assert "confidence" not in caption(plain)
    assert not drawn(plot_map(points, covariance=C, ellipses=False))


def test_many_items_and_dimensions_get_them_only_if_asked_for():
    for n, d in ((MOST + 1, 2), (12, 3)):
        points, C = some_map(n, d)
        assert not drawn(plot_map(points, covariance=C))
        shown = drawn(plot_map(points, covariance=C, ellipses=True))
        assert len(shown) == (1 if d == 2 else 3)  # one for each pair of dimensions
    blocks = [C[:, dims][:, :, dims] for dims in ([0, 1], [0, 2], [1, 2])]
    for found, block in zip(shown, blocks, strict=True):
        np.testing.assert_allclose(found.get_widths(), 2 * ellipses(block).axes[:, 0])
    assert drawn(plot_map(*some_map(MOST)[:1], covariance=some_map(MOST)[1]))


def test_the_map_makes_room_for_ellipses_but_not_for_any():
    points, C = some_map()
    (bare,), (roomy,), (wild,) = (
        plot_map(points, covariance=size * C if size else None).axes for size in (0, 0.02, 1e4)
    )
    span = np.ptp(points[:, 0])

    def widths(axes):
        return np.ptp(axes.get_xlim())

    assert widths(bare) < widths(roomy) < widths(wild) < 1.6 * widths(bare)
    assert widths(wild) > span


def test_bars_on_a_line():
    points, C = some_map(d=1)
    figure = plot_map(points, covariance=C, colour=np.arange(12.0))
    shown = [each for each in drawn(figure, LineCollection) if each.get_segments()]
    bars = max(shown, key=lambda each: np.ptp(each.get_segments()[0][:, 0]))  # the others end them
    lengths = [np.ptp(segment[:, 0]) for segment in bars.get_segments()]
    errors = np.sqrt(C[:, 0, 0])
    np.testing.assert_allclose(lengths / np.sum(lengths), errors / errors.sum())
    dots = next(each for each in drawn(figure, PathCollection) if len(each.get_offsets()) == 12)
    x = dots.get_offsets()[:, 0]
    unit = np.ptp(x) / np.ptp(points)
    np.testing.assert_allclose(lengths, 2 * 1.959964 * unit * errors, rtol=1e-4)
    assert "Bars hold the true places" in caption(figure)


def test_models_and_bootstraps_bring_their_own():
    points, _ = some_map()
    maps = points + np.random.default_rng(0).normal(size=(9, 12, 2))
    found = Bootstrap(points, maps, np.array([f"item {k}" for k in range(12)]))
    figure = plot_map(found)
    np.testing.assert_allclose(
        drawn(figure)[0].get_widths(), 2 * ellipses(found.covariance).axes[:, 0]
    )
    assert "item 3" in {text.get_text() for text in figure.axes[0].texts}
    triplets = sample_triplets(points, 600, random_state=0)
    model = STE(init="random", random_state=0).fit(triplets)
    (own,) = drawn(plot_map(model))
    np.testing.assert_allclose(own.get_widths(), 2 * ellipses(model.covariance_).axes[:, 0])
    assert '"sure":{"told":"The standard error' in html_report(model, title="x")
    without = GNMDS(init="random", random_state=0).fit(triplets)
    assert not drawn(plot_map(without))
    with pytest.raises(AttributeError, match="GNMDS is no likelihood"):
        plot_map(without, ellipses=True)


def test_what_is_not_to_be_trusted_is_drawn_only_if_asked_for(show):
    triplets = sample_triplets(some_map()[0], 60, random_state=0)
    model = STE(init="random", regularization=1.0, random_state=0).fit(triplets)
    assert model.covariance_doubt_ is not None
    assert not drawn(plot_map(model))
    assert drawn(plot_map(model, ellipses=True))
    assert data_of(html_report(model, title="x", ellipses=True))["sure"]["ellipses"]
    page = show(model, title="x")
    assert not page.js("document.getElementById('show-ellipses').checked")
    told = page.js("document.querySelector('#sure .problem').innerText")
    assert "This is not to be trusted: " in told
    assert model.covariance_doubt_ in told


def test_what_cannot_be_drawn_is_refused():
    points, C = some_map()
    with pytest.raises(ValueError, match="ellipses need the covariance of each item's"):
        plot_map(points, ellipses=True)
    with pytest.raises(ValueError, match=r"covariance must be of shape \(12, 2, 2\); got \(11, 2"):
        plot_map(points, covariance=C[1:])


def test_crowded_ellipses_are_paler():
    points, C = some_map(40)
    apart, crowded = fill_of(100 * points, C), fill_of(0.01 * points, C)
    assert crowded < apart / 5
    assert fill_of(points, np.full_like(C, np.nan)) == apart


@pytest.mark.parametrize("d", [1, 2])
def test_eps_has_no_transparency_and_leaves_the_figure_as_it_was(tmp_path, d):
    points, C = some_map(d=d)
    figure = plot_map(points, covariance=C)
    before = save(figure, tmp_path / "a.png", dpi=60).read_bytes()
    save(figure, tmp_path / "a.eps")
    assert save(figure, tmp_path / "b.png", dpi=60).read_bytes() == before


# ---- the report


def data_of(page):
    return json.loads(re.search(r'id="data">(.*?)</script>', page, re.DOTALL)[1])


def ink(page, folder, x, y, reach=3):
    """How dark the page is about a place, from 0 to 255."""
    page.screenshot(folder / "page.png")
    with Image.open(folder / "page.png") as picture:
        box = (round(x) - reach, round(y) - reach, round(x) + reach, round(y) + reach)
        return 255 - np.asarray(picture.convert("L").crop(box), float).mean()


def test_the_report_draws_ellipses_and_hides_them(show, tmp_path):
    points = np.array([[0.0, 0.0], [10.0, 0.0], [0.0, 10.0], [10.0, 10.0]])
    C = np.array([[[1.0, 0.9], [0.9, 1.0]]] * 4)
    page = show(points, ["a", "b", "c", "d"], title="Four", covariance=C)
    page.js("document.getElementById('show-labels').click()")
    page.settle()
    x, y = page.js("ordinate.screen(0)")
    unit = page.js("ordinate.state.view.scale")
    # The long axis goes up to the right, so that it has ink there, and none to the left.
    along, across = 1.5 * unit, -1.5 * unit
    assert ink(page, tmp_path, x + along, y - along) > 5
    assert ink(page, tmp_path, x + across, y - along) == 0
    page.js("document.getElementById('show-ellipses').click()")
    page.settle()
    assert ink(page, tmp_path, x + along, y - along) == 0


def test_the_report_shows_the_two_dimensions_that_are_seen(show, tmp_path):
    rng = np.random.default_rng(0)
    points = rng.normal(size=(4, 4)) * 5
    C = np.array([np.diag([1e-6, 1e-6, 4.0, 1e-6])] * 4)
    page = show(points, ["a", "b", "c", "d"], title="Four", covariance=C, ellipses=True)
    page.js("document.getElementById('show-labels').click()")
    page.js("""(menu => { menu.value = "2"; menu.dispatchEvent(new Event("change")); })
        (document.getElementById("across"))""")
    page.settle()
    x, y = page.js("ordinate.screen(0)")
    assert ink(page, tmp_path, x + 3 * page.js("ordinate.state.view.scale"), y) > 10


def test_the_report_tells_how_sure_it_is(show):
    points, C = some_map(30)
    C[4] = np.nan
    names = [f"item {i}" for i in range(30)]
    page = show(points, names, title="Thirty", covariance=C)
    errors = place_errors(C)
    worst = names[int(np.nanargmax(errors))]
    text = page.js("document.getElementById('sure').innerText")
    assert "How sure" in text
    assert f"least certain: {worst} (" in text
    first = page.js("document.querySelector('#sure tbody td').innerText")
    assert first == worst
    page.js("document.getElementById('canvas').scrollIntoView({block: 'center'})")
    page.mouse("mouseMoved", *page.js("ordinate.screen(2)"))
    tip = page.js("document.getElementById('tooltip').innerText")
    assert f"{errors[2]:.4g}"[:6] in tip
    assert "of the map's size" in tip
    page.mouse("mouseMoved", *page.js("ordinate.screen(4)"))
    assert "unknown" in page.js("document.getElementById('tooltip').innerText")
    menu = page.js("[...document.getElementById('colour').options].map(o => o.text)")
    assert "standard error" in menu


def test_the_report_of_a_line_has_bars(show, tmp_path):
    points, C = some_map(8, 1)
    page = show(points, [str(k) for k in range(8)], title="A line", covariance=C * 0 + 0.01)
    page.js("document.getElementById('show-labels').click()")
    page.settle()
    x, y = page.js("ordinate.screen(0)")
    end = 0.196 * page.js("ordinate.state.view.scale")
    assert ink(page, tmp_path, x + end, y) > 5
    assert "Error bars" in page.js("document.getElementById('map-bar').innerText")


def test_a_large_report_has_errors_alone():
    points, C = some_map(2001)
    sure = data_of(html_report(points, title="Many", covariance=C))["sure"]
    assert sure["covariance"] is None
    assert not sure["ellipses"]
    assert len(sure["errors"]) == 2001
    few = data_of(html_report(points[:9], title="Few", covariance=C[:9]))["sure"]
    assert few["ellipses"]
    assert len(few["covariance"]) == 3
    off = data_of(html_report(points[:9], title="Few", covariance=C[:9], ellipses=False))["sure"]
    assert not off["ellipses"]
    assert off["covariance"] is not None  # to be switched on
    assert data_of(html_report(points[:9], title="Few"))["sure"] is None
