"""Figures as readers see them: whose label is whose, what is hidden, what is written."""

import logging
import warnings
import xml.etree.ElementTree as ET

import numpy as np
import pytest
from PIL import Image

from ordinate import plot_map, sample_points
from ordinate.figures import fonts, label_placement, line_layout
from ordinate.figures.drawing import clear_white
from ordinate.figures.picture_placement import place_pictures
from ordinate.figures.plotting import save


def clusters(n, seed=0):
    """A crowded map: two thirds of the items in a few tight clusters."""
    rng = np.random.default_rng(seed)
    middles = rng.normal(size=(6, 2))
    tight = middles[rng.integers(6, size=n)] + 0.12 * rng.normal(size=(n, 2))
    return np.where(rng.random((n, 1)) < 2 / 3, tight, rng.normal(size=(n, 2)))


def crescent(n, seed=0):
    """A bent line, as one-dimensional items make in two dimensions."""
    rng = np.random.default_rng(seed)
    angle = rng.uniform(0, np.pi, n)
    return np.column_stack([np.cos(angle), np.sin(angle)]) * (1 + 0.08 * rng.normal(size=(n, 1)))


def names_of(n):
    words = ["oak", "silver birch", "the common hornbeam", "yew", "a very old sweet chestnut tree"]
    return [f"{words[i % 5]} {i}" for i in range(n)]


def boxes(figure, texts):
    figure.canvas.draw()
    return np.array([text.get_window_extent().extents for text in texts]).reshape(-1, 4)


def leaders(axes):
    """Both ends of all thin lines, in pixels: (n, 2, 2)."""
    found = [np.zeros((0, 2, 2))]
    for line in axes.lines:
        ends = axes.transData.transform(np.column_stack(line.get_data()))
        found.append(ends.reshape(-1, 3, 2)[:, :2])
    return np.concatenate(found)


def distance(box, points):
    return np.hypot(*(np.clip(points, box[:2], box[2:]) - points).T)


def overlapping(found):
    a, b = found[:, None], found[None]
    hit = ~((a[..., 2:] <= b[..., :2]) | (b[..., 2:] <= a[..., :2])).any(axis=2)
    return int(np.triu(hit, 1).sum())


def words_below(figure):
    return " ".join(text.get_text() for text in figure.texts).replace("\n", " ")


def pictures_of(axes):
    return [a for a in axes.artists if type(a).__name__ == "AnnotationBbox"]


@pytest.mark.parametrize("show", ["auto", "all", 30])
@pytest.mark.parametrize("width", ["column", "page"])
@pytest.mark.parametrize(("make", "n"), [(clusters, 60), (crescent, 300)])
def test_a_label_is_nearest_to_its_own_point_or_has_a_line(make, n, width, show):
    points, names = make(n), names_of(n) if n < 100 else [f"i{k:04}" for k in range(n)]
    figure = plot_map(points, names, width=width, show_labels=show)
    axes = figure.axes[0]
    at, ends = axes.transData.transform(points), leaders(axes)
    row_of = {tuple(point): row for row, point in enumerate(points)}
    radius = 2.6 * figure.dpi / 72
    for text, box in zip(axes.texts, boxes(figure, axes.texts), strict=True):
        own = row_of[tuple(text.xy)]
        away = distance(box, at)
        # A line from the marker's edge to the edge of the label.
        led = (np.hypot(*(ends[:, 0] - at[own]).T) < radius) & (distance(box, ends[:, 1]) < 1)
        if not led.any():
            assert np.delete(away, own).min() > away[own]
        else:
            line = ends[np.flatnonzero(led)[0]]
            assert np.hypot(*(line[1] - line[0])) > 2 * figure.dpi / 72  # long enough to be seen


def test_labels_of_points_in_one_place_are_not_refused():
    centres = label_placement.place_labels(
        np.array([[50.0, 50], [50, 50]]), np.full((2, 2), 10.0), np.ones((2, 2)), (0, 0, 100, 100)
    )
    assert not np.isnan(centres).any()


@pytest.mark.parametrize("d", [1, 2, 3])
def test_how_many_labels_are_shown(d):
    points, names = sample_points(200, d, random_state=0), [f"item {i}" for i in range(200)]
    every = plot_map(points, names, show_labels="all")
    assert len(every.axes[0].texts) == 200
    assert "labels" not in words_below(every)
    some = plot_map(points, names, show_labels=25)
    assert len(some.axes[0].texts) == 25
    assert "Not shown: 175 of 200 labels." in words_below(some)
    none = plot_map(points, names, show_labels="none")
    assert [len(axes.texts) for axes in none.axes] == [0] * len(none.axes)
    assert len(plot_map(points, names, show_labels=np.int64(1000)).axes[0].texts) == 200
    wide = np.array([text.xy for text in some.axes[0].texts]) if d == 2 else None
    if wide is not None:  # spread over the map, not its first items
        assert np.ptp(wide, axis=0) == pytest.approx(np.ptp(points, axis=0), rel=0.25)


def test_all_labels_make_a_crowded_map_higher_and_overlap_little():
    points, names = clusters(150), names_of(150)
    low, high = (plot_map(points, names, show_labels=show) for show in ("auto", "all"))
    assert high.get_figheight() > low.get_figheight()
    assert overlapping(boxes(high, high.axes[0].texts)) <= 15
    frame = high.axes[0].get_window_extent().extents
    found = boxes(high, high.axes[0].texts)
    assert (found[:, :2] >= frame[:2] - 1).all()
    assert (found[:, 2:] <= frame[2:] + 1).all()


@pytest.mark.parametrize("wrong", ["some", -1, 2.5, True, None])
def test_wrong_drawing_is_named(wrong):
    with pytest.raises(ValueError, match="show_labels must be 'auto', 'all', 'none' or a number"):
        plot_map([[0, 1], [1, 0]], "ab", show_labels=wrong)
    with pytest.raises(ValueError, match="image_size must be 1 to 200 mm; got 0"):
        plot_map([[0, 1], [1, 0]], "ab", image_size=0)
    with pytest.raises(ValueError, match="image_alpha must be above 0 and at most 1; got 1.5"):
        plot_map([[0, 1], [1, 0]], "ab", image_alpha=1.5)


def test_pictures_keep_apart_and_near_or_are_counted():
    points = clusters(120)
    picture = np.zeros((20, 30), np.uint8)
    images = dict.fromkeys(map(str, range(120)), picture)
    figure = plot_map(points, range(120), images=images, image_size=7, show_labels="none")
    axes = figure.axes[0]
    stamps = pictures_of(axes)
    figure.canvas.draw()
    found = np.array([stamp.offsetbox.get_window_extent().extents for stamp in stamps])
    assert overlapping(found) == 0
    side = 7 / 25.4 * figure.dpi
    assert (found[:, 2] - found[:, 0]).max() == pytest.approx(side, abs=2)
    at = axes.transData.transform([stamp.xy for stamp in stamps])
    middles = (found[:, :2] + found[:, 2:]) / 2
    assert np.hypot(*(middles - at).T).max() < 1.3 * side
    outside = np.array([distance(box, p[None])[0] for box, p in zip(found, at, strict=True)]) > 2
    assert outside.any()
    begins = leaders(axes)[:, 0]
    for point in at[outside]:
        assert np.hypot(*(begins - point).T).min() < 1
    assert 30 < len(stamps) < 120
    assert f"{120 - len(stamps)} of 120 pictures (no room)" in words_below(figure)
    markers = sum(len(group.get_offsets()) for group in axes.collections)
    assert markers == 120 - len(stamps)  # the others are still on the map
    assert axes.collections[0].get_zorder() > stamps[0].get_zorder()


def test_pictures_move_as_little_as_needed():
    alone = np.array([[50.0, 50], [80, 20]])
    assert (place_pictures(alone, np.full((2, 2), 10.0), (0, 0, 100, 100)) == alone).all()
    same = place_pictures(np.full((2, 2), 50.0), np.full((2, 2), 10.0), (0, 0, 100, 100))
    assert sorted(np.abs(same[1] - same[0])) == pytest.approx([0, 11])
    rim = place_pictures(np.array([[0.0, 0]]), np.full((1, 2), 10.0), (0, 0, 100, 100))
    assert rim.tolist() == [[5.5, 5.5]]  # inside the frame
    crowd = place_pictures(np.full((50, 2), 50.0), np.full((50, 2), 10.0), (0, 0, 100, 100))
    assert 3 <= (~np.isnan(crowd[:, 0])).sum() < 20


def test_only_white_joined_to_the_border_is_cleared():
    pixels = np.full((40, 40, 4), 255, np.uint8)
    pixels[10:30, 10:30, :3] = 0
    pixels[15:25, 15:25, :3] = 250  # a white spot inside
    clear = clear_white(pixels)[..., 3]
    assert (clear[:10] == 0).all()
    assert (clear[10:30, 10:30] == 255).all()
    blank = np.full((40, 40, 4), 255, np.uint8)
    assert (clear_white(blank) == blank).all()


@pytest.mark.parametrize(("keep", "alpha"), [(False, 1.0), (True, 1.0), (False, 0.4)])
def test_backgrounds_and_transparency_of_pictures(keep, alpha):
    picture = np.full((30, 30), 255, np.uint8)
    picture[8:22, 8:22] = 0
    options = {"keep_white": keep, "image_alpha": alpha, "show_labels": "none"}
    figure = plot_map([[0, 0], [1, 1]], list("ab"), images={"a": picture}, **options)
    drawn = pictures_of(figure.axes[0])[0].offsetbox.get_data()
    assert drawn[0, 0, 3] == (255 if keep else 0)
    middle = drawn[len(drawn) // 2, len(drawn) // 2]
    assert middle.tolist() == [0, 0, 0, round(255 * alpha)]


@pytest.mark.parametrize("n", [1, 2, 12, 60, 250])
@pytest.mark.parametrize("width", ["column", "page"])
def test_a_line_fills_the_width_and_its_labels_are_readable(n, width):
    values = np.random.default_rng(0).beta(0.7, 2, size=(n, 1))
    figure = plot_map(values, [f"item {i}" for i in range(n)], width=width)
    axes = figure.axes[0]
    found = boxes(figure, axes.texts)
    assert overlapping(found) == 0
    left_out = n - len(found)
    assert (f"{left_out} of {n} labels (no room)" in words_below(figure)) == (left_out > 0)
    assert left_out == 0 or n == 250
    wide = figure.get_figwidth() * figure.dpi
    assert found[:, 0].min() >= 0
    assert found[:, 2].max() <= wide
    at = axes.transData.transform(axes.collections[0].get_offsets())
    if n > 10:
        assert np.ptp(at[:, 0]) > 0.7 * wide
    # Lines neither cross each other nor a label; on each side they keep the order of the items.
    paths = [axes.transData.transform(np.column_stack(line.get_data())) for line in axes.lines[1:]]
    for sign in (1, -1):
        side = sorted((p for p in paths if sign * (p[2] - p[0])[1] > 0), key=lambda p: p[0, 0])
        stems = [path[1, 0] for path in side]
        assert (np.diff(stems) > 0).all()
    for path in paths:
        low, high = sorted(path[1:, 1])
        through = (found[:, 0] < path[1, 0]) & (path[1, 0] < found[:, 2])
        assert not (through & (found[:, 1] < high) & (found[:, 3] > low)).any()


def test_every_label_of_a_long_line_finds_a_row():
    x, widths = np.linspace(0, 200, 900), np.full(900, 30.0)
    some = line_layout.lay_out(x, widths, 240, 9, 20)
    assert some.n_rows <= 20
    assert 0 < (some.rows != 0).sum() < 900
    every = line_layout.lay_out(x, widths, 240, 9, 20, every=True)
    assert (every.rows != 0).all()
    assert (every.stems >= 0).all()
    assert (every.stems + widths <= 240 + 1e-9).all()
    bare = line_layout.lay_out(x, np.full(900, np.nan), 240, 9, 20)
    assert not bare.rows.any()


@pytest.fixture
def chinese_font(tmp_path):
    """A font that has two Chinese characters and nothing else, known to matplotlib for a while."""
    from fontTools.fontBuilder import FontBuilder
    from fontTools.pens.ttGlyphPen import TTGlyphPen
    from matplotlib.font_manager import fontManager

    builder = FontBuilder(1000, isTTF=True)
    builder.setupGlyphOrder([".notdef", "one", "two"])
    builder.setupCharacterMap({0x65E5: "one", 0x672C: "two"})
    pen = TTGlyphPen(None)
    for k, corner in enumerate([(100, 0), (100, 700), (800, 700), (800, 0)]):
        (pen.lineTo if k else pen.moveTo)(corner)
    pen.closePath()
    square = pen.glyph()
    builder.setupGlyf(dict.fromkeys([".notdef", "one", "two"], square))
    builder.setupHorizontalMetrics(dict.fromkeys([".notdef", "one", "two"], (900, 100)))
    builder.setupHorizontalHeader(ascent=800, descent=-200)
    builder.setupNameTable({"familyName": "Two Characters", "styleName": "Regular"})
    builder.setupOS2()
    builder.setupPost()
    path = tmp_path / "two.ttf"
    builder.save(path)
    before = list(fontManager.ttflist)
    fontManager.addfont(path)
    yield "Two Characters"
    fontManager.ttflist[:] = before


def test_a_font_that_has_the_characters_is_found(chinese_font, tmp_path):
    figure = plot_map([[0, 0], [1, 2]], ["日本", "plain"], caption="本")
    assert chinese_font in figure.axes[0].texts[0].get_fontfamily()
    for kind in ("png", "svg", "pdf", "eps"):
        save(figure, tmp_path / f"map.{kind}")  # warnings are errors here
    families, missing = fonts.families_for(["日本", "日한"])
    assert families[-1] == chinese_font
    assert missing == {"한"}


def test_fonts_are_not_searched_without_need(monkeypatch):
    monkeypatch.setattr(fonts, "_installed", lambda: pytest.fail("searched"))
    assert fonts.families_for(["naïve Käse", "plain\u200d\ufe0f"])[1] == set()


def test_characters_that_no_font_has_are_told_once(tmp_path):
    labels = ["\U0001f9ff one", "हिन्दी", "plain"]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        figure = plot_map([[0, 0], [1, 2], [3, 1]], labels, colour=["한국", "b", "b"])
        for kind in ("png", "svg", "pdf", "eps", "tiff"):
            save(figure, tmp_path / f"map.{kind}")
    told = [str(each.message) for each in caught]
    missing = fonts.families_for([*labels, "한국"])[1]  # none where a machine has all fonts
    assert len(told) == bool(missing)
    for text in told:
        assert "no installed font can draw" in text
        assert "Install a font" in text
    svg = (tmp_path / "map.svg").read_text(encoding="utf-8")
    assert "हिन्दी" in svg  # whoever opens it may have the font


def test_labels_are_written_literally_in_a_sound_svg(tmp_path):
    labels = [
        "$x_{$",
        r"\frac{a}{b}",
        "a_b^c",
        "line\nbreak\ttab",
        "bell\x07",
        "half \ud800",
        "%",
        "{",
    ]
    figure = plot_map(
        sample_points(8, random_state=0),
        labels,
        colour=["$y_{$", "\x00", *"abcdef"],
        colour_name="$x_{$",
        caption="$z_{$ \x1b[31m",
        title="$t_{$\x0b",
    )
    for kind in ("png", "pdf", "eps", "tiff"):
        save(figure, tmp_path / f"map.{kind}")
    root = ET.parse(save(figure, tmp_path / "map.svg")).getroot()
    found = {"".join(node.itertext()).strip() for node in root.iter() if node.tag.endswith("}text")}
    expected = {"$x_{$", r"\frac{a}{b}", "a_b^c", "line break tab", "bell\ufffd", "half \ufffd"}
    assert expected | {"$y_{$", "$z_{$ \ufffd[31m", "$t_{$\ufffd"} <= found


@pytest.mark.parametrize(
    "numbers",
    [[1e308, -1e308, 0, 1], [1e308, 2, 3, None], [5e-324, 0, 0, 0], [1e-200, 2e-200, 3e-200, 0]],
)
def test_extreme_numbers_are_coloured(numbers, tmp_path):
    points = sample_points(4, random_state=0)
    figure = plot_map(points, "abcd", colour=numbers, colour_name="$x_{$")
    save(figure, tmp_path / "map.png")
    bar = next(axes for axes in figure.axes if axes.get_xlabel())
    assert bar.get_xlabel().startswith("$x_{$ in units of 1e")
    colours = np.concatenate([group.get_facecolor() for group in figure.axes[-1].collections])
    assert len(np.unique(colours, axis=0)) > 1


@pytest.mark.parametrize("d", [1, 2, 3])
def test_eps_has_no_transparency_and_leaves_the_figure_alone(d, tmp_path, caplog):
    picture = np.full((30, 30), 255, np.uint8)
    picture[8:22, 8:22] = 0
    options = {"image_alpha": 0.5, "show_labels": "none", "colour": [k % 7 for k in range(1100)]}
    points = sample_points(1100, d, random_state=0)
    figure = plot_map(points, range(1100), images={"3": picture}, **options)
    before = save(figure, tmp_path / "before.png", dpi=80).read_bytes()
    with caplog.at_level(logging.WARNING):
        first = save(figure, tmp_path / "one.eps", dpi=80).read_bytes()
    assert not caplog.records
    assert first.startswith(b"%!PS-Adobe-3.0 EPSF-3.0")
    assert save(figure, tmp_path / "two.eps", dpi=80).read_bytes() == first.replace(
        b"one.", b"two."
    )
    assert save(figure, tmp_path / "after.png", dpi=80).read_bytes() == before


@pytest.mark.parametrize("ending", ["tif", "TIFF"])
def test_tiff_is_opaque_and_knows_its_resolution(ending, tmp_path):
    figure = plot_map(sample_points(20, random_state=0), names_of(20), width="column")
    path = save(figure, tmp_path / f"map.{ending}", dpi=300)
    with Image.open(path) as picture:
        assert picture.mode == "RGB"
        assert picture.info["dpi"] == (300, 300)
        assert picture.info["compression"] == "tiff_lzw"
        assert picture.size[0] == pytest.approx(85 / 25.4 * 300, abs=2)
        assert np.asarray(picture).std() > 5
