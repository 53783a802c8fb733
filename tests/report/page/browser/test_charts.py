"""Charts as they are drawn."""

import pytest
from playwright.sync_api import Page

from loadsim.report.page.parts import Axis, Chart, Rule, Section, Series, Stripe
from loadsim.report.page.render import render
from tests.report.page.browser.conftest import Show, colour, count, drawn, pixels
from tests.report.page.samples import CHARTS, sample_page


def chart(series: list[Series], **more: object) -> str:
    fields: dict[str, object] = {"x": Axis(label="x"), "y": Axis(label="y"), "id": "c", "title": "T", "said": "S."}
    part = Chart(series=series, **(fields | more))  # type: ignore[arg-type]
    return render("t", [], [Section(id="s", title="S", parts=[part])])


def shown(show: Show, series: list[Series], **more: object) -> Page:
    page = show(chart(series, **more))
    drawn(page, "c")
    return page


def clusters(places: list[tuple[float, float]], axis: int, apart: float = 0.02) -> list[float]:
    """The middles of groups of places, along x (0) or y (1)."""
    values = sorted(place[axis] for place in places)
    groups: list[list[float]] = []
    for value in values:
        if groups and value - groups[-1][-1] < apart:
            groups[-1].append(value)
        else:
            groups.append([value])
    return [(group[0] + group[-1]) / 2 for group in groups]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_series_of_every_chart_is_there_in_its_colour(show: Show, scheme: str) -> None:
    page = show(sample_page(), scheme=scheme)
    for part in CHARTS:
        drawn(page, part.id)
        for k, series in enumerate(part.series):
            found = count(page, part.id, colour(page, part.id, k))
            assert (found > 10) == bool(series.x), f"{part.id}, {series.label}: {found}"


def test_a_chart_is_drawn_when_it_comes_into_view(show: Show) -> None:
    page = show(sample_page(), height=700)
    drawn(page, CHARTS[0].id)
    assert not page.evaluate(f'pictures.has("{CHARTS[-1].id}")')
    drawn(page, CHARTS[-1].id)


def test_a_chart_tells_what_it_shows(show: Show) -> None:
    page = show(sample_page())
    drawn(page, "knee")
    plot = page.get_by_role("img", name=CHARTS[0].said)
    assert plot.count() == 1


def test_the_middle_of_the_axis_is_the_middle_of_the_picture(show: Show) -> None:
    page = shown(show, [Series(label="a", x=[0.0, 4.0], y=[50.0, 50.0])], y=Axis(label="y", low=0, high=100))
    rows = clusters([place for place in pixels(page, "c", colour(page, "c")) if 0.2 < place[0] < 0.8], 1)
    assert rows == [pytest.approx(0.5, abs=0.01)]


def test_a_missing_value_is_a_gap_and_not_zero(show: Show) -> None:
    page = shown(
        show,
        [Series(label="a", x=[0.0, 1.0, 2.0, 3.0, 4.0, 5.0], y=[9.0, 9.0, None, 9.0, 9.0, 9.0])],
        x=Axis(label="x", low=0, high=5),
    )
    columns = [x * 5 for x, _ in pixels(page, "c", colour(page, "c"))]
    assert not [x for x in columns if 1.1 < x < 2.9]
    assert [x for x in columns if x < 0.9] and [x for x in columns if x > 3.1]


def test_a_value_between_gaps_is_marked(show: Show) -> None:
    many = [None if n % 2 else 5.0 for n in range(400)]
    page = shown(show, [Series(label="a", x=[float(n) for n in range(400)], y=many)])
    assert len(pixels(page, "c", colour(page, "c"))) > 400


def test_steps_hold_their_value_until_the_next(show: Show) -> None:
    page = shown(
        show,
        [Series(label="a", x=[0.0, 9.0, 10.0], y=[0.0, 100.0, 100.0], draw="steps")],
        x=Axis(label="x", low=0, high=10),
        y=Axis(label="y", low=-100, high=100),
    )
    found = [y for x, y in pixels(page, "c", colour(page, "c")) if 0.8 < x < 0.88]
    assert found and max(found) == pytest.approx(min(found), abs=0.02)
    assert found[0] == pytest.approx(0.5, abs=0.02)


def test_a_band_is_filled_between_its_sides(show: Show) -> None:
    page = shown(
        show,
        [Series(label="a", x=[0.0, 10.0], y=[20.0, 20.0], top=[60.0, 60.0], draw="band")],
        y=Axis(label="y", low=0, high=100),
    )
    rgb = [int(colour(page, "c")[at : at + 2], 16) for at in (1, 3, 5)]
    fill = "#" + "".join(f"{round(0.22 * c + 0.78 * 255):02x}" for c in rgb)
    rows = [y for _, y in pixels(page, "c", fill, 2, within=(0.45, 0.46))]
    assert [min(rows), max(rows)] == [pytest.approx(0.4, abs=0.02), pytest.approx(0.8, abs=0.02)]


def test_equal_ratios_are_equally_far_on_a_log_axis(show: Show) -> None:
    page = shown(
        show,
        [Series(label="a", x=[1.0, 2.0, 3.0, 4.0], y=[1.0, 10.0, 100.0, 1000.0], draw="points")],
        y=Axis(label="y", scale="log"),
    )
    a, b, c, d = clusters(pixels(page, "c", colour(page, "c")), 1)
    assert b - a == pytest.approx(c - b, abs=0.01) == pytest.approx(d - c, abs=0.01)


def test_zero_has_no_place_on_a_log_axis(show: Show) -> None:
    page = shown(
        show,
        [Series(label="a", x=[1.0, 2.0, 3.0], y=[0.0, 10.0, 100.0], draw="points")],
        y=Axis(label="y", scale="log"),
    )
    assert len(clusters(pixels(page, "c", colour(page, "c")), 1)) == 2


def test_a_tail_gives_each_nine_as_much_room(show: Show) -> None:
    page = shown(
        show,
        [Series(label="a", x=[0.0, 90.0, 99.0, 99.9, 99.99, 100.0], y=[1.0, 1.0, 1.0, 1.0, 1.0, 5.0], draw="points")],
        x=Axis(label="percentile", scale="tail"),
    )
    places = pixels(page, "c", colour(page, "c"))
    a, b, c, d, e = clusters(places, 0)
    assert [b - a, c - b, d - c, e - d] == [pytest.approx(b - a, abs=0.006)] * 4
    highest = min(places, key=lambda place: place[1])  # 100 lies over the last nine that is known
    assert highest[0] == pytest.approx(e, abs=0.01)
    ticks = page.evaluate('pictures.get("c").u.axes[0]._values')
    assert ticks == ["0 %", "50 %", "90 %", "99 %", "99.9 %", "99.99 %"]


def test_time_is_told_as_hours_minutes_and_seconds(show: Show) -> None:
    page = shown(
        show, [Series(label="a", x=[0.0, 7200.0], y=[1.0, 1.0])], x=Axis(label="time", scale="clock"), height=300
    )
    ticks = page.evaluate('pictures.get("c").u.axes[0]._values')
    assert ticks[0] == "0:00:00" and ticks[-1] == "2:00:00" and "1:00:00" in ticks


def test_values_at_the_same_x_are_all_drawn_in_any_order(show: Show) -> None:
    page = shown(
        show,
        [
            Series(label="a", x=[3.0, 1.0, 1.0, 1.0], y=[25.0, 30.0, 10.0, 20.0], draw="points"),
            Series(label="b", x=[0.0, 4.0], y=[0.0, 0.0], role="other"),
        ],
        y=Axis(label="y", low=0, high=40),
    )
    places = pixels(page, "c", colour(page, "c"))
    left = [place for place in places if place[0] < 0.5]
    assert clusters(left, 1) == [pytest.approx(1 - y / 40, abs=0.015) for y in (30, 20, 10)]
    assert clusters([place for place in places if place[0] > 0.5], 1) == [pytest.approx(1 - 25 / 40, abs=0.015)]


def test_each_series_goes_by_its_own_axis(show: Show) -> None:
    page = shown(
        show,
        [
            Series(label="a", x=[0.0, 1.0], y=[75.0, 75.0]),
            Series(label="b", x=[0.0, 1.0], y=[500.0, 500.0], role="heat", axis=1),
        ],
        y=Axis(label="y", low=0, high=100),
        more=[Axis(label="z", low=0, high=2000)],
    )
    middle = [
        clusters([place for place in pixels(page, "c", colour(page, "c", k)) if 0.2 < place[0] < 0.8], 1)
        for k in (0, 1)
    ]
    assert middle == [[pytest.approx(0.25, abs=0.015)], [pytest.approx(0.75, abs=0.015)]]


def test_rules_and_stripes_lie_where_they_say(show: Show) -> None:
    page = shown(
        show,
        [Series(label="a", x=[0.0, 10.0], y=[10.0, 10.0])],
        x=Axis(label="x", low=0, high=10),
        y=Axis(label="y", low=0, high=100),
        rules=[Rule(label="limit", at=60, role="bad"), Rule(label="here", at=9, along="x", role="power")],
        stripes=[Stripe(label="pause", start=2, end=4, role="heat")],
    )
    bad, power, heat = (page.evaluate(f'theme.role("{role}")') for role in ("bad", "power", "heat"))
    assert clusters([p for p in pixels(page, "c", bad) if p[0] > 0.4], 1) == [pytest.approx(0.4, abs=0.01)]
    assert clusters([p for p in pixels(page, "c", power) if p[1] > 0.5], 0) == [pytest.approx(0.9, abs=0.005)]
    rgb = [int(heat[at : at + 2], 16) for at in (1, 3, 5)]
    tint = "#" + "".join(f"{round(0.16 * c + 0.84 * 255):02x}" for c in rgb)
    columns = [x for x, y in pixels(page, "c", tint, 1, within=(0.1, 0.21)) if y > 0.5]
    columns += [x for x, y in pixels(page, "c", tint, 1, within=(0.39, 0.5)) if y > 0.5]
    assert [min(columns), max(columns)] == [pytest.approx(0.2, abs=0.01), pytest.approx(0.4, abs=0.01)]


def test_a_stripe_of_a_hair_is_a_tick_but_what_is_bad_goes_from_top_to_bottom(show: Show) -> None:
    page = shown(
        show,
        [Series(label="a", x=[0.0, 10_000.0], y=[10.0, 10.0])],
        x=Axis(label="x", low=0, high=10_000),
        y=Axis(label="y", low=0, high=100),
        stripes=[
            Stripe(label="pause", start=2300, end=2301, role="heat"),
            Stripe(label="no token", start=4300, end=4301, role="bad"),
        ],
    )
    shade = """([from, to]) => {
      const {ctx, bbox} = pictures.get("c").u;
      const copy = new OffscreenCanvas(bbox.width, bbox.height).getContext("2d", {willReadFrequently: true});
      copy.drawImage(ctx.canvas, -bbox.left, -bbox.top);
      const {data} = copy.getImageData(0, 0, bbox.width, bbox.height);
      const at = (x, y) => {
        const place = 4 * (Math.floor(y * bbox.height) * bbox.width + Math.floor(x * bbox.width));
        return data.slice(place, place + 4).join();
      };
      const found = [0.3, 0.995].filter((y) => {
        for (let x = from; x < to; x += 0.0002) if (at(x, y) !== at(0.33, y)) return true;
      });
      return found;
    }"""
    assert page.evaluate(shade, [0.225, 0.235]) == [0.995]
    assert page.evaluate(shade, [0.425, 0.435]) == [0.3, 0.995]


def test_a_limit_far_away_does_not_flatten_the_picture(show: Show) -> None:
    page = shown(
        show, [Series(label="a", x=[0.0, 10.0], y=[10.0, 20.0])], rules=[Rule(label="limit", at=5000, role="bad")]
    )
    assert page.evaluate('pictures.get("c").u.scales.y0.max') < 100
    assert pixels(page, "c", page.evaluate('theme.role("bad")'), 60)  # its name stands at the edge


def test_series_of_one_role_differ_in_colour_and_in_dash_or_marker(show: Show) -> None:
    page = show(sample_page())
    looks = page.evaluate(
        "looksOf(Array.from({length: 12}, () => ({role: 'load', draw: 'line', dashed: false})))"
        ".map((look) => [look.shade, look.dash.join(), look.shape].join(' '))"
    )
    assert len(set(looks)) == 12
    assert len({look.split()[0] for look in looks[:4]}) == 4
    assert len({" ".join(look.split(" ")[1:]) for look in looks[:4]}) == 4


def test_what_is_dashed_and_raw_points_have_the_colour_of_their_line(show: Show) -> None:
    page = show(sample_page())
    shades = page.evaluate(
        "looksOf([['line', false], ['line', false], ['line', true], ['line', true], ['points', false]]"
        ".map(([draw, dashed]) => ({role: 'load', draw, dashed}))).map((look) => look.shade)"
    )
    assert shades == [0, 1, 0, 1, 0]
