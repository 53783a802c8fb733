"""Which slot each caller holds."""

from collections.abc import Mapping

from ..scenario.model import Group
from ..types import BadInput

ORDER = {"low": 0, "neighbours": 1, "server": 1, "spread": 2, "high": 3}

Places = dict[str, tuple[int | None, ...]]


def places(groups: Mapping[str, Group], slots: int | None) -> Places:
    """A slot for every caller, by group. `low` groups take the lowest slots, then `neighbours` and `server` in the
    file's order, then `spread` ones as far apart as what is left allows, and `high` ones right above all of these,
    where there is room. A server that tells of no slots gets None for all.

    Raises BadInput where there are fewer slots than callers.
    """
    if slots is None:
        return {name: (None,) * group.count for name, group in groups.items()}
    callers = sum(group.count for group in groups.values())
    if callers > slots:
        raise BadInput(
            f"{callers} callers need {callers} slots; the server has {slots}: raise its -np or lower a count"
        )
    free = list(range(slots))
    found: Places = {}
    # What is spread takes from the rest.
    for name, group in sorted(groups.items(), key=lambda item: ORDER[item[1].slots]):
        # What is spread leaves the top to those who want to be there.
        top = sum(other.count for other in groups.values() if other.slots == "high")
        step = (len(free) - top) / group.count if group.slots == "spread" else 1
        highest = max((slot for row in found.values() for slot in row if slot is not None), default=-1)
        above = [slot for slot in free if slot > highest]
        room = above if group.slots == "high" and len(above) >= group.count else free
        taken = [room[int(i * step)] for i in range(group.count)]
        free = [slot for slot in free if slot not in taken]
        found[name] = tuple(taken)
    return {name: found[name] for name in groups}
