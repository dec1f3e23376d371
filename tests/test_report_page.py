"""The report as it is seen: where things stand in a real browser, and what keys and fingers do."""

import itertools

import numpy as np
import pytest
from PIL import Image

from ordinate import sample_points

DESK, PHONE = (1400, 900), (420, 800)
CORNERS = np.array([[0, 0], [0, 1], [1, 0], [1, 1], [0.5, 0.5]], dtype=float)
LONG = [
    "A label of exactly two hundred letters " * 5 + "right?",
    "W" * 200,
    "非常に長いラベル" * 25,
    "תווית ארוכה מאוד של מילים רבות " * 6,
    "👩‍👩‍👧‍👦🍎" * 18,
]
WORDS = ["a", "b", None, "c", "b"]


def inside(box, frame, slack=1):  # scrolling goes by whole pixels
    (left, top, right, bottom), (x0, y0, x1, y1) = box, frame
    return min(left - x0, top - y0, x1 - right, y1 - bottom) >= -slack


def overlap(a, b):
    return a[0] < b[2] and b[0] < a[2] and a[1] < b[3] and b[1] < a[3]


def window(page):
    return [0, 0, *page.js("[innerWidth, innerHeight]")]


def press(page, key):
    codes = {"Enter": 13, "Escape": 27, "Tab": 9, "ArrowDown": 40}
    typed = {"text": "\r"} if key == "Enter" else {}
    page.key(key, code=key, windowsVirtualKeyCode=codes[key], **typed)


def search(page, text):
    page.js("document.getElementById('search').focus()")
    page.js("document.getElementById('search').select()")
    page.type(text)


def choose_column(page, name):
    number = page.js("[...document.getElementById('colour').options].map(o => o.text)").index(name)
    change(page, "colour", number)


def change(page, menu, value):
    page.js(
        f"(menu => {{ menu.value = '{value}'; menu.dispatchEvent(new Event('change')); }})"
        f"(document.getElementById('{menu}'))"
    )
    page.settle()


def colours(page, folder, items):
    """What is seen in the middle of the markers of items."""
    page.screenshot(folder / "page.png")
    with Image.open(folder / "page.png") as picture:
        seen = picture.convert("RGB")
        places = [page.js(f"ordinate.screen({item})") for item in items]
        return [seen.getpixel((round(x), round(y))) for x, y in places]


def report(n=12, d=2, **options):
    points = sample_points(n, n_components=d, random_state=0)
    return [points, [f"item {i}" for i in range(n)]], {"title": "A report", **options}


def full():
    """As much as a report may hold: a verdict, many categories with long names, all sections."""
    rng = np.random.default_rng(0)
    return report(
        60,
        5,
        accuracy_per_item=rng.uniform(0.4, 0.9, 60),
        triplets_per_item=np.arange(60) + 1000,
        columns={
            f"a column of long name {k}": [f"category {i}" for i in range(60)] for k in range(9)
        },
        colour="a column of long name 0",
        participants=[
            {"participant": f"P{k}", "triplets": 10, "accuracy": k / 30} for k in range(30)
        ],
        held_out={"accuracy": 0.55, "n_triplets": 1234, "standard error": "1.0%"},
        verdict=("warning", "The map is of little use. " * 4, "Ask more people."),
        problems=[("warning", "few answers", "ask more")],
        history=[3.0, 2.0, 1.0],
        facts={"command": "x" * 300},
    )


# ---- labels


@pytest.mark.parametrize("size", [DESK, PHONE])
@pytest.mark.parametrize("zoom", [1, 0.3, 40])
def test_the_searched_label_is_whole(show, size, zoom):
    page = show(CORNERS, LONG, title="Corners", size=size)
    for item, label in enumerate(LONG):
        search(page, label)
        press(page, "Enter")
        # The item at each corner and edge of what is seen, as panning may leave it.
        for across, down in itertools.product((0.01, 0.5, 0.99), repeat=2):
            page.js(f"""(() => {{
                const state = ordinate.state, box = document.getElementById("canvas").getBoundingClientRect();
                const scale = state.view.scale = {zoom} * Math.min(box.width, box.height) / 1.5;
                state.view.x = {CORNERS[item, 0]} - ({across} - 0.5) * box.width / scale;
                state.view.y = {CORNERS[item, 1]} + ({down} - 0.5) * box.height / scale;
                ordinate.redraw();
            }})()""")
            page.settle()
            flag, canvas, marker = (
                page.box("#flag"),
                page.box("#canvas"),
                page.js(f"ordinate.screen({item})"),
            )
            assert page.js("document.getElementById('flag').textContent") == label
            assert inside(flag, canvas)
            assert not overlap(flag, [*marker, *marker])
            for control in ("#map-bar", "#zoom", "#item"):
                assert not overlap(flag, page.box(control))
            # All lines of it are seen: nothing is cut off below or at the side.
            assert page.js(
                "(f => f.scrollHeight <= f.clientHeight && f.scrollWidth <= f.clientWidth)(document.getElementById('flag'))"
            )


def test_the_label_follows_the_match_that_is_lit(show):
    args, options = report(40)
    page = show(*args, **options, size=DESK)
    shown = "(f => f.hidden ? null : f.textContent)(document.getElementById('flag'))"
    assert page.js(shown) is None
    search(page, "item 2")
    for _ in range(8):
        press(page, "ArrowDown")
        item = page.js("ordinate.state.lit")
        lit = page.js("document.querySelector('#matches [aria-selected=true]').textContent")
        assert page.js(shown) == lit == f"item {item}"
        # Beside the list of matches, unless the item itself is below it.
        matches = page.box("#matches")
        marker = page.js(f"ordinate.screen({item})")
        if not overlap([*marker, *marker], matches):
            assert not overlap(page.box("#flag"), matches)
    press(page, "Enter")
    press(page, "ArrowDown")  # the list is closed: nothing is lit, the chosen item keeps its label
    assert page.js("ordinate.state.lit") == -1
    assert page.js(shown) == f"item {page.js('ordinate.state.chosen')}"
    page.js("document.getElementById('canvas').focus()")
    press(page, "Escape")
    assert page.js(shown) is None


@pytest.mark.parametrize("size", [DESK, PHONE])
def test_the_other_labels_are_whole_or_left_out(show, size):
    points = sample_points(150, random_state=1)
    labels = [f"{LONG[i % 5][: 10 + i]} {i}" for i in range(150)]
    page = show(points, labels, title="Labels", size=size)
    for _ in range(4):
        written = page.js("ordinate.state.written")
        _, _, wide, high = page.js(
            "[0, 0, document.getElementById('canvas').clientWidth, document.getElementById('canvas').clientHeight]"
        )
        boxes = [entry["box"] for entry in written]
        assert boxes
        assert all(inside(box, [0, 0, wide, high]) for box in boxes)
        assert not any(overlap(a, b) for a, b in itertools.combinations(boxes, 2))
        for entry in written:
            assert entry["text"] == labels[entry["item"]] or entry["text"].endswith("…")
            assert "�" not in entry["text"].encode("utf-16", "surrogatepass").decode(
                "utf-16", "replace"
            )
        page.js("document.querySelector('[aria-label=\"Zoom in\"]').click()")
        page.settle()


def test_no_letter_is_cut_in_two(show):
    page = show(CORNERS, [LONG[4] * 2] * 4 + ["x"], title="Emoji", size=DESK)
    clipped = [entry["text"] for entry in page.js("ordinate.state.written") if entry["item"] < 4]
    assert clipped
    for text in clipped:
        assert text.endswith("…")
        assert text.rstrip("…").replace("👩‍👩‍👧‍👦", "").replace("🍎", "") == ""


def test_tooltips_stay_inside_and_off_the_chosen_label(show):
    page = show(CORNERS, LONG, title="Tips", size=DESK, columns={"kind": WORDS})
    search(page, LONG[4])
    press(page, "Enter")
    for item in range(4):
        page.mouse("mouseMoved", *page.js(f"ordinate.screen({item})"))
        tip = page.box("#tooltip")
        assert page.js("document.querySelector('#tooltip strong').textContent") == LONG[item]
        assert inside(tip, page.box("#canvas"))
        assert not overlap(tip, page.box("#flag"))


def test_labels_read_from_the_right_where_they_do(show):
    page = show(CORNERS, LONG, title="Scripts", size=DESK, columns={LONG[3]: WORDS})
    for item, direction in ((0, "ltr"), (3, "rtl"), (2, "ltr")):
        search(page, LONG[item])
        press(page, "Enter")
        for where in ("#flag", "#item strong"):
            assert (
                page.js(f"getComputedStyle(document.querySelector({where!r})).direction")
                == direction
            )

    assert page.js("getComputedStyle(document.querySelector('#item dt')).direction") == "rtl"


# ---- colours


def test_every_column_can_colour_the_map(show, tmp_path):
    numbers = [0.0, 10.0, np.nan, 5.0, 2.0]
    columns = {"size": numbers, "kind": WORDS, "nothing": [None] * 5, "same": [7] * 5}
    page = show(
        CORNERS,
        list("vwxyz"),
        title="Colours",
        columns=columns,
        colour="kind",
        accuracy_per_item=[0.4, 0.6, 0.5, 0.9, None],
    )
    menu = "[...document.getElementById('colour').options].map(o => o.text)"
    assert page.js(menu) == ["one colour", "accuracy", *columns]
    legend = "document.getElementById('legend').innerText"
    chosen = "document.getElementById('colour').selectedOptions[0].text"
    assert page.js(chosen) == "kind"
    assert page.js(legend).split() == ["kind", "a", "1", "b", "2", "c", "1", "unknown", "1"]
    looks = colours(page, tmp_path, range(5))
    assert looks[1] == looks[4]
    assert len(set(looks)) == 4
    assert looks[2] == (0xB3, 0xB3, 0xB3)
    choose_column(page, "size")
    assert page.js(legend).split() == ["size", "0", "10", "unknown", "1"]
    ends_and_missing = [(0x44, 0x01, 0x54), (0xB5, 0xDE, 0x2B), (0xB3, 0xB3, 0xB3)]
    assert colours(page, tmp_path, (0, 1, 2)) == ends_and_missing
    strip = page.box("#legend .strip")
    assert strip[2] - strip[0] > 100
    choose_column(page, "accuracy")
    assert page.js(legend).split() == [
        "accuracy",
        "40.0%",
        "90.0%",
        "(chance",
        "50%)",
        "unknown",
        "1",
    ]
    strip, chance = page.box("#legend .strip"), page.box("#legend .chance")
    assert (chance[0] + chance[2]) / 2 == pytest.approx(
        strip[0] + 0.2 * (strip[2] - strip[0]), abs=1
    )
    choose_column(page, "nothing")
    assert page.js(legend).split() == ["nothing", "unknown", "5"]
    choose_column(page, "same")
    assert page.js(legend).split() == ["same", "7", "5"]
    choose_column(page, "one colour")
    assert page.js(legend) == ""


def test_many_categories_are_told_and_keep_their_words(show, tmp_path):
    args, options = report(40, columns={"word": [f"word {i}" for i in range(40)]})
    # Names of items tell nothing as colours: another column is the first, unless it is asked for.
    assert show(*args, **options).js("document.getElementById('colour').value") == "0"
    page = show(*args, **options, colour="word")
    legend = page.js("document.getElementById('legend').innerText")
    assert "29 others" in legend
    assert "Only the commonest 11 of 40 have a colour of their own." in legend
    assert colours(page, tmp_path, [39]) == [(0x77, 0x77, 0x77)]
    search(page, "item 39")
    press(page, "Enter")
    assert "word 39" in page.js("document.getElementById('item').innerText")
    assert "word 39" in page.js(
        "(() => { document.querySelectorAll('#items .pager button')[1].click(); return document.querySelector('#items table').innerText })()"
    )


# ---- the window


@pytest.mark.parametrize("size", [DESK, (1400, 720), (1920, 1080)])
def test_map_and_panel_fit_the_window(show, size):
    args, options = full()
    page = show(*args, **options, size=size)
    for chosen in (False, True):
        if chosen:
            search(page, "item 7")
            press(page, "Enter")
        assert page.js("scrollY") == 0
        for part in ("h1", "#verdict", "#tiles", "#map-bar", "#stage", "#item", "#legend", "#zoom"):
            assert inside(page.box(part), window(page)), part
        stage, item = page.box("#stage"), page.box("#item")
        assert stage[3] - stage[1] >= 300
        assert (item[1], item[3]) == pytest.approx((stage[1], stage[3]), abs=1)
        assert item[0] > stage[2]
        assert page.box(".front")[3] >= size[1] - 1  # no height is wasted
    # What does not fit into the panel can be scrolled to there.
    page.js("document.querySelector('#item li:last-child').scrollIntoView({block: 'nearest'})")
    assert inside(page.box("#item li:last-child"), page.box("#item"))
    assert page.js("scrollY") == 0


def test_a_telephone_shows_the_panel_below_and_takes_fingers(show):
    args, options = full()
    page = show(*args, **options, size=PHONE, touch=True)
    assert page.js("document.documentElement.scrollWidth") <= PHONE[0]
    for part in (
        "#map-bar",
        "#stage",
        "#item",
        "#legend",
        "#zoom",
        "#search",
        "#colour",
        "#verdict",
    ):
        left, _, right, _ = page.box(part)
        assert 0 <= left < right <= PHONE[0], part
    stage = page.box("#stage")
    assert page.box("#item")[1] >= stage[3]
    assert stage[3] - stage[1] < 0.7 * PHONE[1]  # there is room beside it to scroll the page
    for button in range(3):
        left, top, right, bottom = page.js(
            f"(b => [b.left, b.top, b.right, b.bottom])(document.querySelectorAll('#zoom button')[{button}].getBoundingClientRect())"
        )
        assert min(right - left, bottom - top) >= 40
    page.js("document.getElementById('stage').scrollIntoView({block: 'center'})")
    page.tap(*page.js("ordinate.screen(7)"))
    chosen = page.js("ordinate.state.chosen")
    near = page.js(f"[ordinate.screen({chosen}), ordinate.screen(7)]")
    assert np.hypot(*np.subtract(*near)) < 26
    assert page.js("document.querySelector('#item strong').textContent") == f"item {chosen}"
    before, scrolled = page.js("ordinate.screen(7)"), page.js("scrollY")
    x, y = page.js("[innerWidth / 2, innerHeight / 2]")
    page.touch("touchStart", (x, y))
    for step in range(1, 6):
        page.touch("touchMove", (x + 10 * step, y - 20 * step))
    page.touch("touchEnd")
    assert page.js("ordinate.screen(7)") == pytest.approx([before[0] + 50, before[1] - 100], abs=1)
    assert page.js("scrollY") == scrolled
    scale = page.js("ordinate.state.view.scale")
    x, y = (stage[0] + stage[2]) / 2, page.js("innerHeight / 2")
    page.touch("touchStart", (x - 40, y), (x + 40, y))
    page.touch("touchMove", (x - 80, y), (x + 80, y))
    page.touch("touchEnd")
    assert page.js("ordinate.state.view.scale") == pytest.approx(2 * scale, rel=0.1)
    # A neighbour chosen in the panel is seen on the map.
    page.js("document.querySelector('#item li:last-child button').scrollIntoView({block: 'start'})")
    page.js("document.querySelector('#item li:last-child button').click()")
    page.settle()
    assert inside(page.box("#stage"), window(page))
    assert inside(page.box("#flag"), page.box("#canvas"))


def test_fingers_may_miss_by_more_than_a_mouse(show):
    page = show(CORNERS, list("vwxyz"), title="Fingers", size=PHONE, touch=True)
    page.js("document.getElementById('stage').scrollIntoView({block: 'center'})")
    x, y = page.js("ordinate.screen(4)")
    page.tap(x + 22, y)
    assert page.js("ordinate.state.chosen") == 4
    page = show(CORNERS, list("vwxyz"), title="Mouse", size=DESK)
    x, y = page.js("ordinate.screen(4)")
    page.click(x + 22, y)
    assert page.js("ordinate.state.chosen") == -1


def test_the_verdict_stands_above_all_numbers(show):
    args, options = full()
    page = show(*args, **options, size=DESK)
    assert page.box("#verdict")[3] <= page.box("#tiles")[1]
    assert "The map is of little use." in page.js("document.getElementById('verdict').innerText")
    assert page.js("document.querySelector('#verdict .warning') !== null")
    options.pop("verdict")
    page = show(*args, **options, size=DESK)
    _, top, _, bottom = page.box("#verdict")
    assert bottom - top == 0


# ---- chance


@pytest.mark.parametrize("accuracy", [[0.5, 0.5, 0.5], [1, 1, 1], [0, 0.2, 0.1], [0.6, 0.8, 0.95]])
def test_charts_mark_one_half(show, accuracy):
    people = [{"participant": str(k), "triplets": 5, "accuracy": a} for k, a in enumerate(accuracy)]
    page = show(
        *report(3)[0],
        title="Chance",
        accuracy_per_item=accuracy,
        participants=people,
        held_out={"accuracy": accuracy[0]},
    )
    for chart in ("#items figure svg", "#participants figure svg"):
        frame = page.box(chart)
        line = page.box(f"{chart} line.chance")
        ticks = page.js(
            f"[...document.querySelectorAll('{chart} text')].filter(t => /^\\d+%$/.test(t.textContent))"
            ".map(t => [parseInt(t.textContent), t.getBoundingClientRect()])"
            ".map(([share, box]) => [share, (box.left + box.right) / 2])"
        )
        half = np.interp(50, *np.transpose(ticks))
        assert (line[0] + line[2]) / 2 == pytest.approx(half, abs=1.5)
        texts = [page.box(f"{chart} .{name}-text") for name in ("chance", "mean")]
        assert all(inside(text, frame) for text in texts)
        assert not overlap(*texts)
    track, line = page.box(".gauge .track"), page.box(".gauge .chance")
    assert (line[0] + line[2]) / 2 == pytest.approx((track[0] + track[2]) / 2, abs=1)
    bar = page.box(".gauge .bars")
    assert bar[2] - bar[0] == pytest.approx(accuracy[0] * (track[2] - track[0]), abs=1)
    headline = page.js("document.querySelector('#tiles .headline').innerText")
    assert "(chance 50%)" in headline
    page.js("document.querySelector('#items tbody button').click()")
    shown = page.js("document.getElementById('item').innerText")
    assert f"accuracy\n{min(accuracy):.1%} (chance 50%)" in shown
    for table in ("#items", "#participants"):
        assert "accuracy (chance 50%)" in page.js(
            f"document.querySelector('{table} thead').innerText"
        )


def test_an_unknown_accuracy_is_said_to_be(show):
    args, options = report(3, held_out={"accuracy": np.nan, "n_triplets": 0})
    page = show(*args, **options)
    assert page.js("document.querySelector('#tiles .headline dd').innerText") == "unknown"
    assert page.js("document.querySelector('.gauge')") is None


# ---- keys


def test_all_can_be_done_by_keys(show):
    args, options = report(12, 3, columns={"kind": ["a", "b"] * 6})
    page = show(*args, **options)
    where = "document.activeElement.id || document.activeElement.title || document.activeElement.tagName"
    reached = []
    page.js("document.querySelector('nav a:last-child').focus()")
    for _ in range(9):
        press(page, "Tab")
        reached.append(page.js(where))
    controls = ["search", "colour", "across", "up", "show-labels"]
    assert reached == [*controls, "Zoom in", "Zoom out", "Show all", "canvas"]
    outline = "getComputedStyle(document.getElementById('canvas')).outlineStyle"
    assert page.js(outline) != "none"
    search(page, "item 3")
    press(page, "Enter")
    press(page, "Escape")  # empties the search
    assert page.js("document.getElementById('search').value") == ""
    assert page.js("ordinate.state.chosen") == 3
    press(page, "Escape")  # lets go of the item
    assert page.js("ordinate.state.chosen") == -1
    search(page, "item 5")
    press(page, "Enter")
    # Going from neighbour to neighbour, the next Tab stays in the panel.
    page.js("document.querySelector('#item li button').focus()")
    press(page, "Enter")
    assert page.js(where) == "item"
    press(page, "Tab")
    assert page.js("document.activeElement === document.querySelector('#item li button')")
    page.js("document.getElementById('canvas').focus()")
    press(page, "Escape")
    assert page.js("ordinate.state.chosen") == -1
    assert "Choose an item" in page.js("document.getElementById('item').innerText")


def test_an_item_chosen_in_the_table_is_seen_on_the_map(show):
    args, options = full()
    page = show(*args, **options, size=DESK)
    page.js("document.querySelector('#items').scrollIntoView()")
    assert page.js("scrollY") > 0
    page.js("document.querySelector('#items tbody button').click()")
    page.settle()
    assert inside(page.box("#stage"), window(page))
    assert inside(page.box("#flag"), page.box("#canvas"))


# ---- sizes and dimensions


def test_an_item_without_neighbours(show):
    page = show([[0.0, 0.0], [np.nan, np.nan]], ["alone", "lost"], title="One")
    page.js("document.querySelectorAll('#items tbody button')[0].click()")
    assert "No other item has a place" in page.js("document.getElementById('item').innerText")
    assert page.js("document.querySelector('#item ol')") is None
    page.settle()
    assert inside(page.box("#flag"), page.box("#canvas"))
    page.js("document.querySelectorAll('#items tbody button')[1].click()")
    page.settle()
    assert "This item has no place" in page.js("document.getElementById('item').innerText")
    assert page.js("document.getElementById('flag').hidden")


@pytest.mark.parametrize("d", [1, 2, 5])
def test_three_items_in_every_dimension(show, d):
    args, options = report(3, d)
    page = show(*args, **options, size=DESK)
    canvas = page.box("#canvas")
    for item in range(3):
        x, y = page.js(f"ordinate.screen({item})")
        assert inside([x, y, x, y], canvas)
    assert len(page.js("ordinate.state.written")) == 3
    assert (page.js("document.getElementById('across')") is None) == (d < 3)


def test_axes_never_show_one_dimension_twice(show):
    args, options = report(12, 5)
    page = show(*args, **options)
    change(page, "up", 4)
    change(page, "across", 4)
    assert page.js("ordinate.state.dims") == [4, 0]
    assert page.js(
        "[document.getElementById('across').value, document.getElementById('up').value]"
    ) == ["4", "0"]
    page.settle()
    order = np.argsort([page.js(f"ordinate.screen({item})")[0] for item in range(12)])
    assert order.tolist() == np.argsort(args[0][:, 4]).tolist()


def test_five_thousand_items_are_drawn_once_a_frame(show):
    rng = np.random.default_rng(0)
    args, options = report(5000, columns={"value": rng.normal(size=5000)})
    page = show(*args, **options, size=DESK)
    before = page.js("ordinate.state.view.scale")
    page.js("""(() => {
        window.drawn = window.styles = 0;
        const pen = CanvasRenderingContext2D.prototype, set = pen.setTransform, read = getComputedStyle;
        pen.setTransform = function (...values) { drawn++; return set.apply(this, values); };
        window.getComputedStyle = (...nodes) => { styles++; return read(...nodes); };
        const canvas = document.getElementById("canvas");
        for (let k = 0; k < 30; k++) canvas.dispatchEvent(new KeyboardEvent("keydown", { key: k % 2 ? "+" : "ArrowLeft" }));
    })()""")
    page.settle()
    assert page.js("[drawn, styles]") == [
        1,
        0,
    ]  # moves of one frame are one; colours are not made anew
    assert page.js("ordinate.state.view.scale") == pytest.approx(1.3**15 * before)


# ---- paper


def test_print_shows_the_map_undistorted(show):
    args, options = full()
    page = show(*args, **options, size=DESK, dark=True)
    search(page, "item 7")
    press(page, "Enter")
    try:
        # At once: the browser prints without waiting for another frame.
        bitmap = page.js(
            "dispatchEvent(new Event('beforeprint')),"
            "(c => [c.width, c.height])(document.getElementById('canvas'))"
        )
        page.look(718, 1000, dark=True, media="print")
        canvas = page.box("#canvas")
        wide, high = canvas[2] - canvas[0], canvas[3] - canvas[1]
        assert canvas[2] <= 718
        assert bitmap[0] / bitmap[1] == pytest.approx(wide / high, rel=0.01)
        assert inside(page.box("#flag"), canvas)
        legend = page.box("#legend")
        assert canvas[3] <= legend[1]
        assert legend[3] <= page.box("#item")[1]
        assert page.js("document.getElementById('map-bar').getClientRects().length") == 0
        assert page.js("document.documentElement.scrollWidth") <= 718
    finally:
        page.js("dispatchEvent(new Event('afterprint'))")
        page.look(*DESK)
    assert inside(page.box("#stage"), window(page))
