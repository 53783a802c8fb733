"""Light and dark, and colours that can be told apart."""

import pytest
from playwright.sync_api import Page

from tests.report.page.browser.conftest import Show, colour, count, drawn, until
from tests.report.page.samples import sample_page

GROUPS = (("load", "alone", "cold", "other"), ("good", "warn", "bad"), ("heat", "clock", "power"))
# Machado, Oliveira, Fernandes: A physiologically-based model for simulation of color vision deficiency (2009), at
# severity 1; rows of matrices for linear sRGB.
SIGHT = {
    "usual": ((1, 0, 0), (0, 1, 0), (0, 0, 1)),
    "protan": ((0.152286, 1.052583, -0.204868), (0.114503, 0.786281, 0.099216), (-0.003882, -0.048116, 1.051998)),
    "deutan": ((0.367322, 0.860646, -0.227968), (0.280085, 0.672501, 0.047413), (-0.011820, 0.042940, 0.968881)),
}


def linear(colour: str) -> list[float]:
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    return [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]


def contrast(one: str, other: str) -> float:
    """As WCAG 2 has it."""
    light = sorted(sum(w * c for w, c in zip((0.2126, 0.7152, 0.0722), linear(of), strict=True)) for of in (one, other))
    return (light[1] + 0.05) / (light[0] + 0.05)


def lab(rgb: list[float]) -> list[float]:
    """CIE 1976 L*a*b* of linear sRGB, white D65."""
    rows = ((0.4124, 0.3576, 0.1805), (0.2126, 0.7152, 0.0722), (0.0193, 0.1192, 0.9505))
    xyz = [sum(m * max(c, 0) for m, c in zip(row, rgb, strict=True)) for row in rows]
    x, y, z = (
        t ** (1 / 3) if t > 0.008856 else 7.787 * t + 16 / 116
        for t in (v / w for v, w in zip(xyz, (0.9505, 1.0, 1.089), strict=True))
    )
    return [116 * y - 16, 500 * (x - y), 200 * (y - z)]


def apart(one: str, other: str, sight: str) -> float:
    """How far two colours are apart (CIE76) for somebody's eyes."""
    seen = [
        lab([sum(m * c for m, c in zip(row, linear(of), strict=True)) for row in SIGHT[sight]]) for of in (one, other)
    ]
    return float(sum((a - b) ** 2 for a, b in zip(*seen, strict=True)) ** 0.5)


def variable(page: Page, name: str) -> str:
    return str(page.evaluate(f"getComputedStyle(document.documentElement).getPropertyValue('--{name}').trim()"))


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_colours_stand_out_from_the_background_and_from_each_other(show: Show, scheme: str) -> None:
    page = show(sample_page(), scheme=scheme)
    back, raised = variable(page, "back"), variable(page, "raised")
    for role in page.evaluate("ROLES"):
        for shade in range(4):
            of = variable(page, f"{role}-{shade}")
            assert contrast(of, back) >= 3, f"{role}-{shade} {of}"
    for words in ("ink", "soft", "accent"):
        assert min(contrast(variable(page, words), of) for of in (back, raised)) >= 4.5, words
    for group in GROUPS:
        for n, one in enumerate(group):
            for other in group[n + 1 :]:
                for sight in SIGHT:
                    pair = [variable(page, f"{role}-0") for role in (one, other)]
                    assert apart(pair[0], pair[1], sight) > 15, f"{one}, {other}: {sight}"


def test_the_system_says_which_colours_come_first(show: Show) -> None:
    for scheme in ("light", "dark"):
        page = show(sample_page(), scheme=scheme)
        assert page.evaluate("document.documentElement.dataset.theme") == scheme


def test_the_button_changes_words_and_canvases(show: Show) -> None:
    page = show(sample_page())
    drawn(page, "knee")
    button = page.get_by_role("button", name="Colours")
    light = colour(page, "knee", 1)
    backs = [page.evaluate("getComputedStyle(document.body).backgroundColor")]
    assert count(page, "knee", light) > 100
    button.click()  # light
    button.click()  # dark
    assert button.inner_text() == "Colours: dark"
    backs.append(page.evaluate("getComputedStyle(document.body).backgroundColor"))
    assert backs == ["rgb(255, 255, 255)", "rgb(21, 24, 29)"]
    page.evaluate("new Promise((done) => requestAnimationFrame(() => setTimeout(done)))")
    dark = colour(page, "knee", 1)
    assert dark != light
    assert count(page, "knee", dark) > 100 and count(page, "knee", light, 3) < 10
    button.click()
    assert button.inner_text() == "Colours: auto"
    assert page.evaluate("document.documentElement.dataset.theme") == "light"


def test_what_was_chosen_is_remembered(show: Show) -> None:
    page = show(sample_page())
    page.get_by_role("button", name="Colours").click(click_count=1)
    page.get_by_role("button", name="Colours").click(click_count=1)
    page.reload()
    assert page.evaluate("document.documentElement.dataset.theme") == "dark"


def test_a_browser_that_keeps_nothing_is_no_error(show: Show) -> None:
    refuses = (
        "Object.defineProperty(window, 'localStorage', {get() { throw new DOMException('no', 'SecurityError'); }})"
    )
    page = show(sample_page(), before=refuses)
    button = page.get_by_role("button", name="Colours")
    button.click()
    button.click()
    assert page.evaluate("document.documentElement.dataset.theme") == "dark"


def test_the_system_is_followed_while_the_page_is_open(show: Show) -> None:
    page = show(sample_page())
    page.emulate_media(color_scheme="dark")
    until(page, "document.documentElement.dataset.theme === 'dark'")
