import subprocess
import sys
import xml.etree.ElementTree as ET
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from ordinate import plot_map, sample_points
from ordinate.figures import label_placement
from ordinate.figures.drawing import read_column, thumbnail
from ordinate.figures.plotting import save

WORDS = ["ant", "bee", "long-tailed tit", "heron", "the great crested grebe of the northern lakes"]


def some(n, d=2):
    return sample_points(n, n_components=d, random_state=0), [
        f"{WORDS[i % len(WORDS)]} {i}" for i in range(n)
    ]


def boxes(figure, texts):
    """Left, bottom, right and top of texts, in pixels."""
    figure.canvas.draw()
    return np.array([text.get_window_extent().extents for text in texts])


def overlaps(first, second):
    """Which boxes of one list overlap which of the other."""
    a, b = first[:, None], second[None]
    apart = (a[..., 2:] <= b[..., :2]) | (b[..., 2:] <= a[..., :2])
    return ~apart.any(axis=2)


def words_below(figure):
    return " ".join(text.get_text() for text in figure.texts).replace("\n", " ")


@pytest.mark.parametrize(
    ("n", "width"),
    [(2, "page"), (26, "column"), (26, "page"), (100, "column"), (300, "page"), (2000, "page")],
)
def test_labels_cover_neither_labels_nor_points(n, width):
    points, labels = some(n)
    figure = plot_map(points, labels, width=width)
    axes = figure.axes[0]
    found = boxes(figure, axes.texts)
    hit = overlaps(found, found)
    np.fill_diagonal(hit, False)
    assert not hit.any()
    at = axes.transData.transform(points)
    assert not overlaps(found, np.hstack([at, at])).any()
    frame = axes.get_window_extent().extents
    assert (found[:, :2] >= frame[:2]).all()
    assert (found[:, 2:] <= frame[2:]).all()
    left_out = n - len(found)
    note = f"{left_out:,} of {n:,} labels (no room)"
    assert (note in words_below(figure)) == (left_out > 0)
    assert len(found) >= min(n, 20)
    if n == 26 and width == "page":
        assert left_out == 0


def test_the_same_input_gives_the_same_file(tmp_path):
    points, labels = some(30)
    for kind in ("svg", "pdf", "png"):
        one = save(plot_map(points, labels), tmp_path / f"one.{kind}").read_bytes()
        assert save(plot_map(points, labels), tmp_path / f"two.{kind}").read_bytes() == one


def test_points_are_used_as_given_on_equal_axes():
    points = np.array([[0.0, 0], [10, 0], [0, 1], [7, 3]])
    axes = plot_map(points).axes[0]
    assert axes.collections[0].get_offsets().tolist() == points.tolist()
    origin, across, up = axes.transData.transform([[0, 0], [1, 0], [0, 1]])
    assert across[0] - origin[0] == pytest.approx(up[1] - origin[1])
    assert axes.get_xticks().size == 0


@pytest.mark.parametrize(("d", "panels"), [(1, 1), (2, 1), (3, 4), (4, 6), (7, 6)])
def test_every_dimension(d, panels, tmp_path):
    points, labels = some(20, d)
    figure = plot_map(points, labels, caption="Held-out accuracy 83%.", title="Birds")
    assert len(figure.axes) == panels
    assert "Held-out accuracy 83%." in words_below(figure)
    assert ("15 of 21 pairs of dimensions" in words_below(figure)) == (d == 7)
    assert sum(axes.name == "3d" for axes in figure.axes) == (d == 3)
    with Image.open(save(figure, tmp_path / "birds.png", dpi=60)) as picture:
        assert np.asarray(picture.convert("L")).std() > 5


def test_items_without_a_place_are_counted():
    points, labels = some(30)
    points[[3, 4]] = np.nan
    figure = plot_map(points, labels, colour=["a", "b", None] * 10)
    assert "Not shown: 2 of 30 items (no place)" in words_below(figure)
    assert sum(len(group.get_offsets()) for group in figure.axes[0].collections) == 28
    shown = {text.get_text().replace("\n", " ") for text in figure.axes[0].texts}
    assert labels[3] not in shown
    with pytest.raises(ValueError, match="none of the 2 points has a place"):
        plot_map([[np.nan, 0], [0, np.nan]])


def test_categories_have_a_legend_and_differ_in_colour_and_marker():
    points, _ = some(120)
    figure = plot_map(points, colour=[f"kind {i % 12}" for i in range(120)], colour_name="kind")
    legend = figure.legends[0]
    names = [text.get_text() for text in legend.get_texts()]
    assert names == [f"kind {k}" for k in range(12)]
    looks = {(line.get_marker(), line.get_markerfacecolor()) for line in legend.get_lines()}
    assert len(looks) == 12
    many = plot_map(points, colour=[f"kind {i % 40}" for i in range(119)] + [None])
    names = [text.get_text() for text in many.legends[0].get_texts()]
    assert len(names) == 13
    assert names[-2:] == ["29 others", "missing (1)"]


def test_numbers_have_a_colour_bar():
    points, _ = some(30)
    figure = plot_map(points, colour=[None, *range(29)], colour_name="loudness")
    bar = figure.axes[0]
    assert bar.get_xlabel() == "loudness  (grey: 1 missing)"
    assert bar.get_xlim() == (0, 28)
    assert not figure.legends
    plot_map(points, colour=np.ones(30))


def test_what_is_a_number_and_what_a_category():
    assert read_column("x", np.arange(3), 3).numbers is not None
    assert read_column("x", [True, False, True], 3).names == ["False", "True"]
    assert read_column("x", ["10", "9", "a"], 3).names == ["9", "10", "a"]
    assert read_column("x", [1, "a", None], 3).n_missing == 1
    assert read_column("x", [np.inf, 1.0, np.nan], 3).n_missing == 2
    assert read_column("x", [None, None, None], 3).names == []
    pandas = pytest.importorskip("pandas")
    assert read_column("x", pandas.Series([1, None, 3], dtype="Int64"), 3).n_missing == 1
    with pytest.raises(ValueError, match="x must have one value per row"):
        read_column("x", [1, 2], 3)


@pytest.mark.parametrize("d", [1, 2, 3])
def test_thumbnails_stand_at_their_points(tmp_path, d):
    Image.new("RGB", (300, 200), "red").save(tmp_path / "red.png")
    images = {
        "a": tmp_path / "red.png",
        "b": str(tmp_path / "red.png"),
        "c": np.zeros((5, 9), np.uint8),
        "d": np.random.default_rng(0).random((8, 8, 4)),
        "somewhere else": "missing.png",
    }
    points = sample_points(5, n_components=d, random_state=0)
    figure = plot_map(points, list("abcde"), images=images, colour=list("xyxyx"))
    stamps = [a for a in figure.axes[-1].artists if type(a).__name__ == "AnnotationBbox"]
    assert len(stamps) == 4
    with Image.open(save(figure, tmp_path / "map.png", dpi=100)) as picture:
        pixels = np.asarray(picture.convert("RGB")).astype(int)
    assert ((pixels[..., 0] > 200) & (pixels[..., 1:] < 60).all(axis=-1)).sum() > 50


def test_thumbnails_are_small_and_keep_their_shape():
    assert thumbnail(np.zeros((100, 400), np.uint8), 40).size == (40, 10)
    assert np.asarray(thumbnail(np.array([[0.0, 16.0]]), 2)).tolist() == [[0, 255]]
    with pytest.raises(ValueError, match="got shape"):
        thumbnail(np.zeros((2, 2, 7)), 4)


def test_wrong_input_is_named():
    points, labels = some(5)
    with pytest.raises(ValueError, match="one label per point: 5, got 4"):
        plot_map(points, labels[:4])
    with pytest.raises(ValueError, match="no key of images is a label"):
        plot_map(points, labels, images={"nobody": "x.png"})
    with pytest.raises(ValueError, match="give labels too"):
        plot_map(points, images={"a": "x.png"})
    with pytest.raises(ValueError, match="width must be one of 'column', 'page'"):
        plot_map(points, width="poster")
    with pytest.raises(ValueError, match="20 to 2000 mm"):
        plot_map(points, width=1)
    with pytest.raises(ValueError, match="'pdf', 'png', 'svg'"):
        save(plot_map(points), "map.bmp")
    with pytest.raises(ValueError, match="points must be an"):
        plot_map([1, 2, 3])


def test_svg_holds_text_as_text_and_takes_labels_literally(tmp_path):
    labels = ["$x^2$ & <b>", "plain", "50 % of $", "naïve", ""]
    figure = plot_map(some(5)[0], labels, colour=list("abc$d"), colour_name="$", caption="$1 & $2")
    root = ET.parse(save(figure, tmp_path / "map.svg")).getroot()
    found = {"".join(node.itertext()).strip() for node in root.iter() if node.tag.endswith("}text")}
    assert {*labels[:4], "$1 & $2"} <= found


def test_saving_is_whole_or_not_at_all(tmp_path, monkeypatch):
    figure = plot_map(some(5)[0])
    path = tmp_path / "new" / "map.png"
    assert save(figure, path) == path
    before = path.read_bytes()

    def half(self, content):
        with self.open("wb") as file:
            file.write(content[: len(content) // 2])
        raise OSError("disk full")

    monkeypatch.setattr(Path, "write_bytes", half)
    with pytest.raises(OSError, match="disk full"):
        save(figure, path)
    assert path.read_bytes() == before
    assert [p.name for p in path.parent.iterdir()] == ["map.png"]


def test_pyplot_and_the_backend_are_left_alone():
    code = (
        "import sys; from ordinate import plot_map; plot_map([[0, 1], [2, 3], [4, 4.0]], 'abc');"
        "print('matplotlib.pyplot' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


@pytest.mark.parametrize("points", [[[1.0, 1]], [[1.0, 1], [1, 1]], [[0.0, 0], [0, 5]]])
def test_degenerate_maps(points, tmp_path):
    for d in (1, 2, 3):
        wide = np.hstack([np.array(points), np.zeros((len(points), 1))])[:, :d]
        save(plot_map(wide, ["a", "b"][: len(points)]), tmp_path / "map.svg")


def test_leader_lines_only_where_a_label_is_far():
    points = np.zeros((3, 2))
    sizes, radii = np.full((3, 2), 10.0), np.ones((3, 2))
    centres = np.array([[7.0, 0], [7, 7], [30, 0]])
    far = label_placement.needs_leader(points, centres, sizes, radii)
    assert far.tolist() == [False, False, True]
    begin, end = label_placement.leader_ends(points, centres, sizes, radii)
    assert begin[2].tolist() == [1, 0]
    assert end[2].tolist() == [25, 0]


def test_labels_that_fit_nowhere_have_no_place():
    points, sizes = np.array([[5.0, 5], [8, 8]]), np.array([[20.0, 4], [np.nan, np.nan]])
    centres = label_placement.place_labels(points, sizes, np.ones((2, 2)), (0, 0, 10, 10))
    assert np.isnan(centres).all()
