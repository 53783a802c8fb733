"""How calls ended, and how many requests a turn took."""

from ..point import Point
from ..topics import CALL_ENDS, REQUESTS
from ..words import number
from .parts import Chart, Lanes, Section, Shown, Table, Text


def calls(shown: list[Shown]) -> Section | None:
    """None: every turn was one request, and every call came to its end."""
    found = [(one.name(point.name), point) for one in shown for point in one.points]
    if not any(_says(point) for _, point in found):
        return None
    parts: list[Chart | Lanes | Table | Text] = []
    if ended := [(name, point.calls) for name, point in found if point.calls is not None]:
        whys = list(dict.fromkeys([*CALL_ENDS, *(why for _, of in ended for why in of.ended)]))
        whys = [why for why in whys if any(of.ended.get(why) for _, of in ended)]
        parts.append(
            Table(
                caption="How calls ended",
                columns=["load point", "calls", *(_bare(why) for why in whys), "turns planned", "turns answered"],
                rows=[
                    [
                        name,
                        f"{sum(of.ended.values()):,}",
                        *(f"{of.ended.get(why, 0):,}" for why in whys),
                        f"{of.planned:,}",
                        f"{of.said:,}",
                    ]
                    for name, of in ended
                ],
            )
        )
    asked = [(name, group, of) for name, point in found for group, of in point.requests.items() if of.requests]
    if asked:
        counted = [(field, words) for field, _, words in REQUESTS if any(getattr(of, field) for _, _, of in asked)]
        parts.append(
            Table(
                caption="Requests per turn",
                columns=[
                    "load point",
                    "group",
                    "requests",
                    "turns answered",
                    "per turn",
                    *(words for _, words in counted),
                ],
                rows=[
                    [
                        name,
                        group,
                        f"{of.requests:,}",
                        f"{of.said:,}",
                        number(of.per_turn),
                        *(f"{getattr(of, field):,}" for field, _ in counted),
                    ]
                    for name, group, of in asked
                ],
            )
        )
    return Section(id="calls", title="Calls and turns", parts=parts)


def _bare(why: str) -> str:
    """A call's end without its number."""
    return CALL_ENDS.get(why, why).replace("{} ", "")


def _says(point: Point) -> bool:
    extra = any(of.per_turn != 1.0 or of.misses or of.empty for of in point.requests.values() if of.requests)
    return extra or (point.calls is not None and (point.setting.paced or set(point.calls.ended) != {"ended"}))
