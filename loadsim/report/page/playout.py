"""The worst reply as it was heard: what was generated and what the voice had spoken, moment by moment."""

from collections.abc import Iterator
from itertools import islice

import msgspec

from ...stats.headline import in_headline
from ...stats.spread import since
from ...stats.tokens import stall
from ...types import RequestRow
from ..point import Point
from ..setting import Setting
from ..words import ms, number, several
from .parts import Axis, Chart, Lanes, Rule, Section, Series, Shown, Stripe, Table, Text
from .thin import thin
from .voice import Voice, voice

MOST_STEPS = 4000
MOST_TRIES = 500  # replies that are tried, from the worst on
COLUMNS = [
    "reply",
    "tokens",
    "first token, ms",
    "voice begins, s",
    "silent, s",
    "underruns",
    "least ready, s",
    "stall, ms",
]


class Reply(msgspec.Struct, frozen=True, kw_only=True):
    """A reply and its load point; `stall`: its largest time between two tokens, seconds."""

    point: str
    setting: Setting
    row: RequestRow
    stall: float | None

    @property
    def badness(self) -> tuple[float, float, float]:
        """Most silence; of those with as much, the least speech ready; then the largest stall."""
        heard = self.row.playout
        least = None if heard is None else heard.least_s
        return (heard.silent_s if heard else 0.0, -1e9 if least is None else -least, self.stall or 0.0)

    @property
    def name(self) -> str:
        row = self.row
        return f"{self.point}, repeat {row.repeat}: {row.group} {row.caller}, turn {row.turn}"


def worst_reply(shown: list[Shown]) -> Section | None:
    """None: no reply with a voice counts, or none can be told again from its row."""
    points = [found for one in shown for point in one.points if (found := _worst_first(one, point))]
    tellable = [(reply, told) for replies in points for reply, told in islice(_told(replies), 1)]
    if not tellable:
        return None
    reply, told = max(tellable, key=lambda each: each[0].badness)
    worst = sorted((replies[0] for replies in points), key=lambda each: each.badness, reverse=True)
    table = Table(caption="The worst reply of each load point", columns=COLUMNS, rows=[_cells(each) for each in worst])
    words = [
        "The worst reply is the one with the most silence within it; where none has any, the one in which the least "
        "speech lay ready; then the one with the largest stall."
    ]
    if reply is not worst[0]:
        words.append(
            f"{worst[0].name} was worse, but a run does not keep what is needed to draw it: false "
            "interruptions stopped its voice, or not all of its tokens were spoken."
        )
    scale = reply.setting.around.time_scale
    if scale != 1:
        words.append(f"Callers' time ran {scale:g} times faster; the voice is drawn at its own speed.")
    parts: list[Chart | Lanes | Table | Text] = [_tokens(reply, told), _ready(reply, told), table]
    return Section(id="playout", title="The worst reply", words=words, parts=parts)


def _worst_first(one: Shown, point: Point) -> list[Reply]:
    """A load point's replies."""
    replies = [
        Reply(point=one.name(point.name), setting=point.setting, row=row, stall=stall(row.token_s))
        for row in one.run.rows
        if row.point == point.name and row.row == "load" and row.playout is not None and in_headline(row)
    ]
    return sorted(replies, key=lambda reply: reply.badness, reverse=True)


def _told(replies: list[Reply]) -> Iterator[tuple[Reply, Voice]]:
    """Those that can be told again."""
    for reply in replies[:MOST_TRIES]:
        if (told := voice(reply.row, reply.setting)) is not None:
            yield reply, told


def _cells(reply: Reply) -> list[str]:
    row, heard = reply.row, reply.row.playout
    assert heard is not None
    begins = since(row.sent_s, heard.start_s)
    return [
        reply.name,
        f"{len(row.token_s):,}",
        ms(since(row.sent_s, row.first_token_s)),
        number(begins),
        number(heard.silent_s),
        f"{heard.underruns:,}",
        number(heard.least_s),
        ms(reply.stall),
    ]


def spoken(told: Voice) -> tuple[list[float], list[float]]:
    """How many tokens the voice has spoken: corners of a line, seconds and tokens."""
    x, y = [told.start], [0.0]
    ends = told.start
    for k, at in enumerate(told.begins[: told.heard]):
        if at > ends + 1e-6:
            x.append(at)
            y.append(float(k))
        ends = at + 1 / told.rate
        following = told.begins[k + 1] if k + 1 < told.heard else None
        if following is None or following > ends + 1e-6:
            x.append(ends)
            y.append(float(k + 1))
    return x, y


def ready(told: Voice) -> tuple[list[float], list[float]]:
    """Seconds of speech that lie ready, from the voice's beginning to its end: corners of a line that falls as the
    voice speaks, stands while it is silent, and steps up where tokens have come."""
    x, y = spoken(told)
    comes = [at + told.delay for at in told.came]
    corners = [(at, done) for at, done in zip(x, y, strict=True)]
    times = sorted({*x, *(at for at in comes if x[0] < at < x[-1])})
    found_x: list[float] = []
    found_y: list[float] = []
    came = 0
    segment = 0
    for at in times:
        while segment + 1 < len(corners) and corners[segment + 1][0] < at:
            segment += 1
        (a, low), (b, high) = corners[segment], corners[min(segment + 1, len(corners) - 1)]
        done = low if b <= a else low + (high - low) * min(max((at - a) / (b - a), 0.0), 1.0)
        before = came
        while came < len(comes) and comes[came] <= at + 1e-9:
            came += 1
        for count in dict.fromkeys((before, came)) if found_x else (came,):
            found_x.append(round(at, 6))
            found_y.append(round(max((count - done) / told.rate, 0.0), 6))
    return found_x, found_y


def _tokens(reply: Reply, told: Voice) -> Chart:
    came_x, came_y = thin([0.0, *told.came], [float(k) for k in range(len(told.came) + 1)], MOST_STEPS)
    x, y = spoken(told)
    last = max(x[-1], told.came[-1])
    never = min(told.start + len(told.came) / told.rate, last)
    return Chart(
        id="playout-tokens",
        title="Generated and spoken tokens",
        said=_said(reply, told),
        x=Axis(label="since the request was sent", unit="s", low=0.0),
        y=Axis(label="tokens", low=0.0),
        series=[
            Series(label="generated", x=came_x, y=[*came_y], draw="steps", role="load"),
            Series(label="spoken", x=x, y=[*y], role="good"),
            Series(
                label=f"a voice of {number(told.rate)} tokens/s that never waits",
                x=[told.start, never],
                y=[0.0, (never - told.start) * told.rate],
                role="quiet",
                dashed=True,
            ),
        ],
        rules=[Rule(label="the voice begins", at=round(told.start, 6), along="x")],
        stripes=_stripes(told),
        sync="playout",
    )


def _ready(reply: Reply, told: Voice) -> Chart:
    x, y = thin(*ready(told), MOST_STEPS)
    heard = reply.row.playout
    least = None if heard is None else heard.least_s
    said = (
        "The whole reply had come before the voice began."
        if least is None
        else f"While tokens were still to come, {number(least)} s of speech lay ready at the least."
    )
    return Chart(
        id="playout-ready",
        title="Speech that lay ready",
        said=said,
        x=Axis(label="since the request was sent", unit="s", low=0.0),
        y=Axis(label="speech ready", unit="s", low=0.0),
        series=[Series(label="speech ready", x=x, y=[*y], role="good")],
        stripes=_stripes(told),
        sync="playout",
        height=180,
    )


def _stripes(told: Voice) -> list[Stripe]:
    return [Stripe(label="silence: the buffer ran dry", start=a, end=b, role="bad") for a, b in told.silences]


def _said(reply: Reply, told: Voice) -> str:
    row, heard = reply.row, reply.row.playout
    assert heard is not None
    after = since(row.sent_s, row.first_token_s)
    said = f"{reply.name}: the first token came after {ms(after)} ms, the voice began after {number(told.start)} s"
    if heard.underruns:
        said += f" and fell silent {several(heard.underruns, 'time')}, for {number(heard.silent_s)} s in all"
    elif heard.silent_s > 0:
        said += f" and dragged, {number(heard.silent_s)} s in all"
    else:
        said += " and never fell silent"
    if row.cut is not None:
        unheard = several(row.cut.unheard, "token")
        said += f"; the caller cut in after {number(row.cut.after)} s of speech, {unheard} unheard"
    return f"{said}. The largest time between two tokens is {ms(reply.stall)} ms."
