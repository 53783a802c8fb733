"""Parts of every kind, made by hand, and the page of them."""

import math

from loadsim.report.page.parts import (
    Axis,
    Chart,
    Figure,
    Head,
    Lane,
    Lanes,
    Look,
    Role,
    Rule,
    Scene,
    Section,
    Series,
    Stripe,
    Table,
    Text,
)
from loadsim.report.page.render import render

CALLERS = [1.0, 2.0, 4.0, 8.0, 12.0]
TTFT = [58.0 * n + 20 for n in CALLERS]

KNEE = Chart(
    id="knee",
    title="First token against callers",
    said="The first token comes 58 ms later with each caller; at 12 its p50 is 716 ms, under 800 ms.",
    x=Axis(label="callers"),
    y=Axis(label="TTFT", unit="ms", low=0),
    series=[
        Series(
            label="together, each request",
            x=[n for n in CALLERS for _ in range(6)],
            y=[58.0 * n + 20 + 9 * (k - 2.5) * math.sqrt(n) for n in CALLERS for k in range(6)],
            draw="points",
            notes=[f"caller {k}, turn {n:g}" for n in CALLERS for k in range(6)],
        ),
        Series(label="together, p50", x=CALLERS, y=list(TTFT)),
        Series(label="together, p95", x=CALLERS, y=[y * 1.2 for y in TTFT]),
        Series(label="paced, p50", x=[1.0, 3.0, 6.0, 12.0], y=[78.0, 91.0, 120.0, 260.0], role="other"),
        Series(label="one caller", x=[1.0, 12.0], y=[70.0, 74.0], top=[82.0, 88.0], draw="band", role="alone"),
    ],
    rules=[Rule(label="SLO 800 ms", at=800, role="bad"), Rule(label="-np 8", at=8, along="x")],
)

GAPS: list[tuple[str, float, Role, bool]] = [
    ("one caller, before", 0.6, "alone", False),
    ("one caller, after", 0.63, "alone", True),
    ("12 callers", 7.8, "load", False),
]
TAIL = Chart(
    id="tail",
    title="Gaps between tokens, by percentile",
    said="Half of the gaps under load are under 7.8 ms, one in a hundred is over 60 ms.",
    x=Axis(label="percentile", scale="tail"),
    y=Axis(label="gap", unit="ms", scale="log"),
    series=[
        Series(
            label=label,
            x=[100 - 100 / 2**k for k in range(14)] + [100.0],
            y=[size * (1 + k / 3) ** 1.5 for k in range(15)],
            role=role,
            dashed=dashed,
        )
        for label, size, role, dashed in GAPS
    ],
)


def soaked(id_: str, title: str, y: Axis, series: list[Series], more: list[Axis] | None = None) -> Chart:
    return Chart(
        id=id_,
        title=title,
        said=f"{title} over an hour.",
        x=Axis(label="time", scale="clock"),
        y=y,
        more=more or [],
        series=series,
        stripes=[Stripe(label="pause for one caller", start=900 * k, end=900 * k + 60) for k in range(1, 4)]
        + [Stripe(label="outage", start=2000, end=2200, role="bad")],
        sync="soak",
    )


MINUTES = [60.0 * k for k in range(61)]
SOAK = [
    soaked(
        "rate",
        "Decode",
        Axis(label="decode", unit="tokens/s"),
        [
            Series(
                label="12 callers",
                x=MINUTES,
                y=[None if 2000 <= x <= 2200 else 115 - x / 180 + 4 * math.sin(x / 150) for x in MINUTES],
            ),
            Series(
                label="one caller",
                x=[0.0, 900.0, 1800.0, 2700.0, 3600.0],
                y=[1474.0, 1460.0, 1430.0, 1418.0, 1409.0],
                role="alone",
                axis=1,
            ),
        ],
        [Axis(label="one caller", unit="tokens/s", low=0)],
    ),
    soaked(
        "card",
        "The card",
        Axis(label="temperature", unit="°C"),
        [
            Series(label="core", x=MINUTES, y=[57 + 31 * (1 - math.exp(-x / 400)) for x in MINUTES], role="heat"),
            Series(
                label="SM clock",
                x=MINUTES,
                y=[1695 if x < 1500 else 1500.0 for x in MINUTES],
                role="clock",
                draw="steps",
                axis=1,
            ),
            Series(label="power", x=MINUTES, y=[166 + 3 * math.sin(x / 70) for x in MINUTES], role="power", axis=2),
        ],
        [Axis(label="clock", unit="MHz"), Axis(label="power", unit="W", low=0, high=350)],
    ),
]

ROLES: tuple[Role, ...] = ("load", "alone", "cold", "other", "good", "warn", "bad", "heat", "clock", "power", "quiet")
EVERY_ROLE = Chart(
    id="roles",
    title="Every role",
    said="Eleven roles.",
    x=Axis(label="callers"),
    y=Axis(label="value"),
    series=[
        Series(label=role, x=[0.0, 1.0, 2.0], y=[n + 1.0, n + 1.5, n + 1.2], role=role) for n, role in enumerate(ROLES)
    ],
)

ONE = Chart(
    id="one",
    title="One value",
    said="One caller was measured once: 95.7 ms.",
    x=Axis(label="callers"),
    y=Axis(label="TTFT", unit="ms"),
    series=[Series(label="p50", x=[1.0], y=[95.7]), Series(label="nothing", x=[], y=[], role="other")],
)

FILE = Text(caption="scenario.yaml", text="repeat: 5\ncallers: {warm: {count: 12}}\n", open=True)

LANES = Lanes(
    id="lanes",
    title="What each caller hears",
    said="Two callers; the second waits for 1.2 s.",
    looks=[Look(state="caller", means="the caller speaks"), Look(state="waiting", means="waits for the first token")],
    scenes=[
        Scene(
            label="12 warm, repeat 1",
            seconds=4.0,
            start=10.0,
            lanes=[
                Lane(name="caller 0", spans=[(0.0, 1.5, 0, -1), (1.5, 2.0, 1, 0)], notes=["turn 3"]),
                Lane(name="caller 1", spans=[(0.5, 1.0, 0, -1), (1.0, 2.2, 1, 0)], notes=["turn 9"]),
            ],
            stripes=[Stripe(label="a cold caller joins", start=1.0, end=2.0, role="cold")],
        )
    ],
)

FIGURES = Table(
    caption="First token, ms",
    columns=["who", "n", "p50", "p95", "max", "before headers", "prompt eval", "cache_n", "speech p50", "note"],
    rows=[
        ["one caller", "5 x 10", "95.7", "164", "179", "56.2", "39.6", "10,369", "116", "-"],
        [
            "warm",
            "5 x 12",
            "975",
            "1,121",
            "1,129",
            "545",
            "448",
            "10,369",
            "1,031",
            "6 x other gaps by the server's clock",
        ],
    ],
)

HEAD = Head(
    label="",
    name="twelve_callers",
    when="2026-11-30 04:31",
    answers=[
        "12 warm callers hear the first token after 975 ms at p50, 1,129 at most (one caller alone: 95.7 ms); each "
        "reply then runs at 115 tokens/s, 7.86 % of one caller's rate; the slowest, 85.3, is 19 times a voice's 4.5.",
        "This was a tiny model on this machine's CPU: it shows that the parts work, not what a card does.",
    ],
    figures=[
        Figure(label="First token, p50", value="975 ms", of="5 x 12, repeats 961 to 1,004"),
        Figure(label="First token, p95", value="1,121 ms", of="5 x 12, repeats 1,090 to 1,129"),
        Figure(label="Decode per caller", value="115 tokens/s", of="n 60"),
        Figure(label="Share of one caller's", value="7.86 %", of="6.39 % to 8.09 % over 5 repeats"),
        Figure(label="Underruns", value="0 of 60 replies"),
    ],
    warnings=[
        "The client was the bottleneck: its event loop was 65.5 ms late at p99.",
        "The card's temperature is not known.",
    ],
)

SECTIONS = [
    Section(
        id="knee-section",
        title="The knee",
        words=["How the first token comes as callers are added."],
        parts=[KNEE, FIGURES],
    ),
    Section(id="tails", title="Percentiles", parts=[TAIL]),
    Section(id="heard", title="What is heard", parts=[LANES, FILE]),
    Section(id="soak", title="The soak", parts=list(SOAK)),
    Section(
        id="rest",
        title="The rest",
        parts=[
            EVERY_ROLE,
            ONE,
            Table(
                caption="The scenario",
                columns=["key", "value"],
                rows=[["repeat", "5"], ["callers.warm.count", "12"]],
                open=False,
            ),
        ],
    ),
]


CHARTS = [part for section in SECTIONS for part in section.parts if isinstance(part, Chart)]

PICTURES = [part for section in SECTIONS for part in section.parts if isinstance(part, Chart | Lanes)]


def sample_page() -> str:
    return render("twelve_callers", [HEAD], SECTIONS)
