"""Text from a run is shown as it is, and runs nothing."""

from playwright.sync_api import Page

from loadsim.report.page.parts import Chart, Table, Text
from loadsim.report.page.render import render
from tests.report.page.browser.conftest import Show, drawn, until
from tests.report.page.hostile import hostile_parts


def texts(page: Page, selector: str) -> list[str]:
    found = page.evaluate("(what) => [...document.querySelectorAll(what)].map((e) => e.textContent)", selector)
    return [str(text) for text in found]


def test_words_are_text_wherever_they_stand(show: Show) -> None:
    head, sections = hostile_parts()
    page = show(render(head.name, [head], sections), width=360, height=1500)
    parts = [part for section in sections for part in section.parts]
    charts = [part for part in parts if isinstance(part, Chart)]
    tables = [part for part in parts if isinstance(part, Table)]
    for part in charts:
        drawn(page, part.id)
        page.locator(f'details[data-of="{part.id}"] > summary').click()
        page.locator(f'details[data-of="{part.id}"] table').wait_for()
        figure = f"#{part.id} "
        assert texts(page, figure + "h3") == [part.title]
        assert texts(page, figure + "figcaption p") == [part.said]
        assert page.locator(figure + ".plot").get_attribute("aria-label") == part.said
        assert texts(page, figure + "button.key .name") == [series.label for series in part.series]
        heads = texts(page, figure + ".data th")
        assert all(any(series.label in text for text in heads) for series in part.series)
        shown = texts(page, figure + ".data td")
        assert all(note in shown for series in part.series for note in series.notes)
        marks = texts(page, figure + ".marks li")
        assert [mark.rpartition(": ")[0] for mark in marks] == [of.label for of in part.stripes] + [
            of.label for of in part.rules
        ]

    assert page.evaluate("document.title").startswith(head.name[:60])
    assert texts(page, "h1") == [head.name]
    assert texts(page, ".answer") == head.answers
    assert texts(page, ".figures dt") == [figure.label for figure in head.figures]
    assert texts(page, ".figures .value") == [figure.value for figure in head.figures]
    assert texts(page, ".warnings span") == head.warnings
    assert texts(page, "h2") == texts(page, "nav a") == [section.title for section in sections]
    assert texts(page, "section > p") == [line for section in sections for line in section.words]
    assert texts(page, "p.caption, details.part > summary") == [
        part.caption for part in parts if isinstance(part, Table | Text)
    ]
    cells = texts(page, "section div.part td, section div.part tbody th, details.part td, details.part tbody th")
    assert cells == [cell for table in tables for row in table.rows for cell in row]

    assert texts(page, "section pre") == [part.text for part in parts if isinstance(part, Text)]

    assert page.evaluate("window.ran") is None
    assert page.locator("img").count() == 0
    assert page.evaluate("document.scripts.length") == 3
    assert page.evaluate("document.documentElement.scrollWidth") <= 360


def test_a_note_at_the_pointer_is_text(show: Show) -> None:
    head, sections = hostile_parts()
    page = show(render("t", [head], sections))
    drawn(page, "knee")
    page.locator("#knee .plot").scroll_into_view_if_needed()
    knee = next(part for section in sections for part in section.parts if isinstance(part, Chart))
    x, y = page.evaluate(
        "(({u}) => [u.valToPos(1, 'x'), u.valToPos(parts.knee.series[0].y[0], 'y0')])(pictures.get('knee'))"
    )
    box = page.locator('[data-part="knee"] .u-over').bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + x, box["y"] + y)
    until(page, "document.querySelector('#knee .tip').textContent !== ''")
    assert texts(page, "#knee .tip")[0] in knee.series[0].notes
    assert page.evaluate("window.ran") is None


def test_the_page_may_fetch_and_run_nothing_else(show: Show) -> None:
    """What a browser enforces of the page's own policy."""
    html = render("t", [], [])
    late = "<script>window.ran = 1</script><style>h1 { color: red }</style><img src='https://example.invalid/x.png'></body>"
    page = show(html)
    assert page.evaluate("document.querySelector('meta[http-equiv]').content").startswith("default-src 'none';")
    refused = page.context.new_page()
    said: list[str] = []
    asked: list[str] = []
    refused.on("console", lambda message: said.append(message.text))
    refused.on("requestfinished", lambda request: asked.append(request.url))
    refused.set_content(html.replace("</body>", late), wait_until="load")
    assert refused.evaluate("window.ran") is None
    assert len([line for line in said if "Content Security Policy" in line]) == 3
    assert not [url for url in asked if "example" in url]
