"""The telemetry keys: what they mean, and errors that say what is allowed."""

from typing import Any

import pytest
from jsonschema import Draft202012Validator

from loadsim.run import run
from loadsim.scenario.load import dump, restore
from loadsim.scenario.model import Scenario
from loadsim.scenario.schema import schema
from loadsim.scenario.units import Duration
from loadsim.telemetry.source import ELSEWHERE, Source, here, source
from loadsim.types import BadInput

BASE: dict[str, Any] = {"recording": "a.json", "callers": {"warm": {"count": 2}}}
REMOTE = "ssh gpu-box loadsim card --every {every}"
SUCH = f"expected auto, none, or a command such as {REMOTE}"


def scenario(telemetry: Any, **keys: Any) -> Scenario:
    return restore(BASE | {"telemetry": telemetry} | keys, "x.yaml")


def test_what_a_bare_scenario_means() -> None:
    found = restore(BASE, "x.yaml").telemetry
    assert found.every == Duration(2)
    assert (found.card, found.cards) == ("auto", None)


@pytest.mark.parametrize(
    "telemetry",
    [
        {"every": "500 ms"},
        {"every": None},
        {"card": "none"},
        {"card": REMOTE, "cards": [0, 2]},
        {"card": "/opt/card-log"},
        {"card": "nvidia.sh"},
        {"card": "ssh gpu-box python3 -m loadsim.telemetry.card --every 1 s"},
    ],
)
def test_what_is_allowed_stays_as_it_is_and_is_in_the_schema(telemetry: dict[str, Any]) -> None:
    found = scenario(telemetry)
    assert restore(dump(found), "again") == found
    Draft202012Validator(schema()).validate(BASE | {"telemetry": telemetry})


@pytest.mark.parametrize(
    ("telemetry", "said"),
    [
        ({"every": "10 ms"}, "telemetry.every: expected 100 ms to 1 min, or null; got 10 ms"),
        ({"every": "2 min"}, "telemetry.every: expected 100 ms to 1 min, or null; got 2 min"),
        ({"every": 2}, "telemetry.every: give a unit: 800 ms, 6 s, 5 min, 4 h; got 2"),
        ({"evry": "2 s"}, "telemetry.evry: unknown key; did you mean every? (allowed: card, cards, every)"),
        ({"card": "atuo"}, f"telemetry.card: {SUCH}; got 'atuo'; did you mean auto?"),
        ({"card": "None"}, f"telemetry.card: {SUCH}; got 'None'; did you mean none?"),
        ({"card": ""}, f"telemetry.card: {SUCH}; got ''"),
        ({"card": "ssh box loadsim card --every {evry}"}, "telemetry.card: unknown placeholder {evry}; did you mean"),
        ({"card": "ssh 'box"}, "telemetry.card: not a command: no closing quotation"),
        ({"card": "smi --token abc"}, "telemetry.card: no secrets in a scenario; give --token by a file"),
        ({"cards": [-1]}, "telemetry.cards: expected a whole number, 0 or more; got -1"),
        ({"cards": []}, "telemetry.cards: expected a list, or null; got an empty list"),
        ("none", "telemetry: expected keys (card, cards, every); got 'none'"),
    ],
)
def test_what_is_not_allowed_is_said_in_one_line(telemetry: Any, said: str) -> None:
    with pytest.raises(BadInput) as error:
        scenario(telemetry)
    assert str(error.value).startswith(f"x.yaml: {said}")
    assert "\n" not in str(error.value)


def test_telemetry_is_not_swept() -> None:
    with pytest.raises(BadInput, match="a run has one log"):
        scenario({}, sweep={"telemetry.every": ["1 s", "2 s"]})


def chosen(telemetry: dict[str, Any], **server: Any) -> Source:
    found = scenario(telemetry, server=server)
    return run(source(found.telemetry, found.server))


LOCAL = {"url": "http://127.0.0.1:8080"}
FAR = {"url": "http://192.0.2.7:8080"}  # a documentation network's address, which no machine has
LAUNCH = {"launch": "llama-server --port {port}"}


@pytest.mark.parametrize("server", [LOCAL, {"url": "http://localhost:8080/v1"}, {"url": "http://[::1]:80"}, LAUNCH])
def test_a_server_here_has_this_machines_cards(server: dict[str, Any]) -> None:
    found = chosen({"every": "1.5 s", "cards": [1, 0]}, **server)
    assert found.command is not None
    assert list(found.command)[1:] == ["-m", "loadsim.telemetry.card", "--every", "1.5", "--card", "1", "--card", "0"]
    assert not found.foreign


@pytest.mark.parametrize("server", [FAR, FAR | LAUNCH, {"url": "http://no-such-host.invalid:8080"}])
def test_this_machines_cards_are_not_another_ones(server: dict[str, Any]) -> None:
    assert chosen({}, **server) == Source(why=ELSEWHERE)


def test_a_command_is_the_users_and_no_shell_parts_it() -> None:
    command = "ssh -i 'my key' gpu-box loadsim card --every {every}"
    want = ["ssh", "-i", "my key", "gpu-box", "loadsim", "card", "--every", "0.5"]
    for server in (FAR, LOCAL, {}):
        assert chosen({"every": "500 ms", "card": command}, **server) == Source(command=want, foreign=True)


@pytest.mark.parametrize(
    ("telemetry", "server"), [({}, {}), ({"card": "none"}, LOCAL), ({"every": None}, LOCAL), ({"every": None}, FAR)]
)
def test_where_no_card_log_is_wanted_there_is_nothing_to_say(telemetry: dict[str, Any], server: dict[str, Any]) -> None:
    assert chosen(telemetry, **server) == Source()


def test_an_address_of_this_machine_is_here() -> None:
    assert run(here("http://0.0.0.0:8080"))
    assert not run(here("http://198.51.100.1"))
