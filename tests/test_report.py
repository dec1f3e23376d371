import html
import json
import re

import numpy as np
import pytest
from PIL import Image

from ordinate import html_report, sample_points

HOSTILE = [
    "</script><script>window.hacked = 1</script>",
    "<img src=x onerror='window.hacked = 1'>",
    "<!--<script>",
    "{{data}} ${1} \u2028 & \"quotes\" 'too'",
    "日本語 🍎",
    "",
]


def grid(n, d=2):
    points = sample_points(n, n_components=d, random_state=0)
    return points, [f"item {i}" for i in range(n)]


def hover(page, row):
    page.js("document.getElementById('canvas').scrollIntoView({block: 'center'})")
    page.mouse("mouseMoved", *page.js(f"ordinate.screen({row})"))


def embedded(page):
    return json.loads(re.search(r'id="data">(.*?)</script>', page, re.DOTALL)[1])


def full_report():
    points, labels = grid(30, 3)
    points[4] = np.nan
    accuracy = np.linspace(0.6, 0.9, 30)
    accuracy[4] = np.nan
    return [points, labels], {
        "title": "Thirty <things>",
        "accuracy_per_item": accuracy,
        "triplets_per_item": np.arange(30) + 1000,
        "images": {"item 3": np.zeros((8, 8), np.uint8)},
        "columns": {
            "kind": ["a", "b", None] * 10,
            "size": [float(i) for i in range(29)] + [np.nan],
        },
        "participants": [
            {"participant": f"P{k}", "triplets": 10 * k, "accuracy": 0.5 + k / 100}
            for k in range(25)
        ],
        "history": [3.0, np.nan, 1.5, 1.4],
        "summary": [
            ("rows", "5,000", ""),
            ("consistency", "85.0%", "pairs of answers to one question agree"),
        ],
        "problems": [("warning", "Item 4 is in no row.", "Ask about it."), ("note", "Fine.", "")],
        "facts": {"command": "ordinate fit a.csv", "seed": 0},
        "held_out": {"accuracy": 0.831, "n_triplets": 1234, "at best": "85%"},
    }


def test_everything_given_is_shown(show):
    args, options = full_report()
    page = show(*args, **options)
    text = page.js("document.body.innerText")
    for part in [
        *("Thirty <things>", "83.1%", "1,234", "at best 85%", "30", "1 of them without a place"),
        *("Accuracy per item", "Accuracy per participant", "P0", "Convergence", "3 iterations"),
        *(
            "Item 4 is in no row.",
            "Ask about it.",
            "pairs of answers to one question agree",
            "ordinate fit a.csv",
        ),
    ]:
        assert part in text
    assert page.js("document.title") == "Thirty <things>"
    assert page.js("document.querySelectorAll('figure svg').length") == 3
    curve = page.js("document.querySelector('.curve').getAttribute('points')").split()
    assert len(curve) == 3  # the unknown value is left out
    heights = [float(point.split(",")[1]) for point in curve]
    assert heights == sorted(heights)
    links = "[...document.querySelectorAll('nav a')].every(a => document.querySelector(a.hash))"
    assert page.js(links)


def test_hovering_shows_the_item(show):
    args, options = full_report()
    page = show(*args, **options)
    assert page.js("document.getElementById('tooltip').hidden")
    hover(page, 3)
    tip = page.js("document.getElementById('tooltip').innerText")
    near = np.argsort(np.linalg.norm(args[0] - args[0][3], axis=1))[1]
    for part in ("item 3", "63.1%", "1,003", f"item {near}\n"):
        assert part in tip
    assert page.js("document.querySelector('#tooltip img').naturalWidth") == 8
    page.mouse("mouseMoved", 2, 2)
    assert page.js("document.getElementById('tooltip').hidden")


def test_choosing_by_click_and_by_neighbour(show):
    page = show(*grid(30), title="Click")
    page.js("document.getElementById('canvas').scrollIntoView({block: 'center'})")
    page.click(*page.js("ordinate.screen(7)"))
    assert page.js("document.querySelector('#item strong').innerText") == "item 7"
    second = page.js("document.querySelector('#item li button').innerText")
    page.js("document.querySelector('#item li button').click()")
    assert page.js("document.querySelector('#item strong').innerText") == second


def test_search_finds_and_keys_choose(show):
    points, labels = grid(400)
    labels[321] = "Crème brûlée"
    page = show(points, labels, title="Search")
    page.js("document.getElementById('search').focus()")
    page.type("creme")
    assert page.js("document.querySelector('#matches li').innerText") == "Crème brûlée"
    assert page.js("ordinate.state.found") == [321]
    page.key("Enter", code="Enter", windowsVirtualKeyCode=13)
    assert page.js("ordinate.state.chosen") == 321
    x, y = page.js("ordinate.screen(321)")
    left, top, right, bottom = page.js(
        "(({left, top, right, bottom}) => [left, top, right, bottom])"
        "(document.getElementById('canvas').getBoundingClientRect())"
    )
    assert left < x < right
    assert top < y < bottom
    page.js("document.getElementById('search').select()")
    page.type("nothing like it")
    assert "No item" in page.js("document.getElementById('matches').innerText")


def test_zoom_and_move(show):
    page = show(*grid(30), title="Zoom")
    scale = "ordinate.state.view.scale"
    hover(page, 5)
    before, place = page.js(scale), page.js("ordinate.screen(5)")
    page.mouse("mouseWheel", *place, deltaX=0, deltaY=-200)
    assert page.js(scale) > 1.2 * before
    assert np.allclose(page.js("ordinate.screen(5)"), place, atol=1)  # zooms about the pointer
    page.js("document.querySelector('[aria-label=\"Zoom out\"]').click()")
    page.js("document.getElementById('canvas').focus()")
    page.key("0")
    assert page.js(scale) == pytest.approx(before)
    page.key("+")
    assert page.js(scale) == pytest.approx(1.3 * before)
    before = page.js("ordinate.screen(5)")
    page.key("ArrowLeft")
    assert page.js("ordinate.screen(5)") == pytest.approx([before[0] + 50, before[1]])
    middle = page.js("[innerWidth / 3, innerHeight / 2]")
    page.mouse("mousePressed", *middle, button="left", clickCount=1)
    page.mouse("mouseMoved", middle[0] + 40, middle[1] - 30, button="left", buttons=1)
    page.mouse("mouseReleased", middle[0] + 40, middle[1] - 30, button="left")
    assert page.js("ordinate.screen(5)") == pytest.approx([before[0] + 90, before[1] - 30])
    assert page.js("ordinate.state.chosen") == -1  # a drag is no click


def test_dimensions_and_colours_can_be_chosen(show):
    args, options = full_report()
    page = show(*args, **options)
    choose = "(e => {{ e.value = {!r}; e.dispatchEvent(new Event('change')); }})(document.getElementById({!r}))"
    page.js(choose.format("2", "up"))
    assert page.js("ordinate.state.dims") == [0, 2]
    assert "unknown" in page.js("document.getElementById('legend').innerText")
    page.js(choose.format("1", "colour"))
    assert "60.0%" in page.js("document.getElementById('legend').innerText")
    page.js(choose.format("0", "colour"))
    assert page.js("document.getElementById('legend').innerText") == ""


def test_tables_sort_and_turn_pages(show):
    args, options = full_report()
    page = show(*args, **options)
    cells = "[...document.querySelectorAll('#items tbody tr')].map(r => r.cells[0].innerText)"
    assert page.js(cells)[:2] == ["item 0", "item 1"]  # the least accurate first
    press = "document.querySelectorAll('#items th button')[{}].click()"
    page.js(press.format(1))
    assert page.js(cells)[0] == "item 29"
    page.js("document.querySelectorAll('#items .pager button')[1].click()")
    assert page.js(cells)[-1] == "item 4"  # unknown accuracy comes last both ways
    assert "21 to 30 of 30" in page.js("document.querySelector('#items .pager').innerText")
    page.js(press.format(0))
    assert page.js(cells)[:3] == ["item 0", "item 1", "item 2"]


def test_hostile_texts_are_harmless(show):
    points = sample_points(len(HOSTILE), random_state=0)
    page = show(
        points,
        HOSTILE,
        title=HOSTILE[0],
        columns={HOSTILE[1]: HOSTILE},
        facts={HOSTILE[0]: HOSTILE[1]},
        problems=[(HOSTILE[0], HOSTILE[1], HOSTILE[2])],
        summary=[tuple(HOSTILE[:3])],
        participants=[{"participant": HOSTILE[1], "triplets": 1, "accuracy": 1.0}],
        held_out={"accuracy": 0.5, HOSTILE[0]: HOSTILE[1]},
    )
    for row, label in enumerate(HOSTILE):
        hover(page, row)
        assert page.js("document.querySelector('#tooltip strong').textContent") == label
    assert page.js("document.title") == HOSTILE[0]
    assert page.js("document.querySelectorAll('main img, script:not(:last-of-type)').length") == 1
    page.js("document.getElementById('search').focus()")
    page.type("<img")
    assert page.js("document.querySelector('#matches li').textContent") == HOSTILE[1]


def test_ten_thousand_items_are_usable(show):
    points, labels = grid(10_000)
    page = show(points, labels, title="Many", accuracy_per_item=np.full(10_000, 0.8))
    assert page.js("document.querySelectorAll('#items tbody tr').length") == 20
    page.js("document.getElementById('search').focus()")
    page.type("item 7777")
    page.key("Enter", code="Enter", windowsVirtualKeyCode=13)
    assert page.js("document.querySelector('#item strong').innerText") == "item 7777"
    before = page.js("ordinate.state.view.scale")
    page.js("document.querySelector('#zoom button').click()")
    assert page.js("ordinate.state.view.scale") == pytest.approx(1.5 * before)
    hover(page, 7777)
    assert page.js("ordinate.state.hover") == 7777


@pytest.mark.parametrize("dark", [False, True])
def test_both_colour_schemes_draw(show, tmp_path, dark):
    args, options = full_report()
    page = show(*args, **options, dark=dark)
    page.screenshot(tmp_path / "page.png")
    with Image.open(tmp_path / "page.png") as picture:
        grey = np.asarray(picture.convert("L"))
    assert (np.median(grey) < 60) == dark
    assert grey.std() > 10


def test_a_narrow_window_does_not_scroll_sideways(show):
    args, options = full_report()
    args[1][2] = "averylonglabel" * 20
    page = show(*args, **options, size=(360, 700))
    assert page.js("document.documentElement.scrollWidth") <= 360


def test_printing_is_light(show):
    args, options = full_report()
    page = show(*args, **options, dark=True)
    page.js("dispatchEvent(new Event('beforeprint'))")
    paper = "getComputedStyle(document.documentElement).getPropertyValue('--paper').trim()"
    assert page.js(paper) == "#ffffff"
    page.js("dispatchEvent(new Event('afterprint'))")
    assert page.js(paper) != "#ffffff"


@pytest.mark.parametrize("d", [1, 2, 5])
def test_every_dimension_and_one_item(show, d):
    page = show(*grid(12, d), title="d")
    hover(page, 11)
    assert "item 11" in page.js("document.getElementById('tooltip').innerText")
    page = show([[0.5] * d], ["alone"], title="one")
    hover(page, 0)
    assert "alone" in page.js("document.getElementById('tooltip').innerText")


def test_data_are_plain_and_round_trip():
    points, labels = grid(5)
    points[2, 1] = np.inf
    page = html_report(points, labels, title="a & b", history=[1.0, np.nan], images=None)
    data = embedded(page)
    assert data["points"][0][2] is None
    assert data["points"][1][2] is None
    assert data["points"][0][0] == pytest.approx(points[0, 0], rel=1e-4)
    assert data["history"] == [1, None]
    assert data["labels"] == labels
    assert html.escape("a & b") in page
    assert "http" not in page.replace("http-equiv", "").replace("http://www.w3.org/2000/svg", "")
    html_report(points, ["\ud800", *labels[1:]], title="lone surrogate").encode()


def test_the_first_colour_can_be_any_column():
    points, labels = grid(3)
    columns = {"kind": ["a", " ", None], "size": [1, 2, None]}
    options = {"title": "t", "columns": columns, "accuracy_per_item": [0.5, 1, 1]}
    assert embedded(html_report(points, labels, **options))["colour"] == "kind"
    for name in ("size", "accuracy"):
        assert embedded(html_report(points, labels, **options, colour=name))["colour"] == name
    first, second = embedded(html_report(points, labels, **options))["columns"]
    assert first == {"name": "kind", "codes": [0, -1, -1], "names": ["a"], "n_named": 1}
    assert second == {"name": "size", "numbers": [1, 2, None]}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"accuracy_per_item": [1.0]}, "accuracy_per_item must have one value per row"),
        ({"columns": {"kind": ["a"]}}, "kind must have one value per row"),
        ({"columns": {"kind": list("abc")}, "colour": "size"}, r"one of \['kind'\]; got 'size'"),
        ({"colour": "accuracy"}, r"colour must be one of \[\]; got 'accuracy'"),
        ({"participants": [{"participant": "A"}]}, "'accuracy', 'triplets'"),
        ({"held_out": {"n_triplets": 3}}, "held_out needs the key accuracy"),
        ({"images": {"nobody": "x.png"}}, "no key of images is a label"),
    ],
)
def test_wrong_input_is_named(options, message):
    with pytest.raises(ValueError, match=message):
        html_report(*grid(3), title="wrong", **options)
