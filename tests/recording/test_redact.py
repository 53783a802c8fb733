"""Masking: consistent, of the same shape and length, and thorough where a call names what it is about."""

import re

import msgspec
import pytest
from msgspec.structs import replace

from loadsim.recording.check import check
from loadsim.recording.importers import read
from loadsim.recording.model import Recording, Reply, ToolCall, Turn, Utterance
from loadsim.recording.redact import redact

from . import primock
from .calls import LOOK_UP, call, turn


def spoken(*texts: str) -> list[str]:
    """What callers' texts are masked to, in one call."""
    turns = [replace(turn(n), caller=replace(turn(n).caller, text=text)) for n, text in enumerate(texts, 1)]
    made = redact(replace(call(len(texts)), turns=tuple(turns))).recording
    return [one.caller.text for one in made.turns]


def with_call(arguments: dict[str, object], result: object, text: str) -> tuple[ToolCall, str]:
    """A tool call and a text of the same call, masked."""
    one = replace(turn(1), caller=replace(turn(1).caller, text=text))
    step = (ToolCall("id7", "look_up", arguments, result),)
    made = redact(replace(call(1), turns=(replace(one, tools=(step,)),))).recording
    return made.turns[0].tools[0][0], made.turns[0].caller.text


def test_a_name_has_the_same_stand_in_throughout() -> None:
    first, second, third = spoken("Hi, my name is Tilda Brandt.", "Yes, Brandt, Tilda Brandt.", "TILDA, not Hilda.")
    name, surname = re.fullmatch(r"Hi, my name is (\w+) (\w+)\.", first).groups()  # type: ignore[union-attr]
    assert {name, surname}.isdisjoint({"Tilda", "Brandt"})
    assert second == f"Yes, {surname}, {name} {surname}."
    assert third == f"{name.upper()}, not Hilda."


@pytest.mark.parametrize(
    "text",
    [
        "This is Okonjo from the bank.",
        "I'm Okonjo, and I am calling back.",
        "Am I speaking with Okonjo?",
        "Ask Mr Okonjo.",
        "Ask Dr. Okonjo.",
        "Doctor Okonjo said so.",
        "my name is okonjo and I am calling back",
        "the name's Okonjo",
    ],
)
def test_who_is_introduced_is_masked(text: str) -> None:
    masked = spoken(text)[0]
    assert "okonjo" not in masked.lower()
    assert len(masked.split()) == len(text.split())


@pytest.mark.parametrize(
    "text",
    ["I'm Sorry, what?", "Thank you, doctor. Appreciate it.", "this is great", "One moment.", "my name is on it"],
)
def test_other_words_stay(text: str) -> None:
    assert spoken(text) == [text]


@pytest.mark.parametrize(
    ("text", "shape"),
    [
        ("Call 555-010-4477 now", r"Call \d{3}-\d{3}-\d{4} now"),
        ("on 2024-05-22, for $163.50", r"on \d{4}-\d\d-\d\d, for \$\d{3}\.\d\d"),
        ("mail to tilda.b@brandt.example today", r"mail to \w+@example\.com today"),
        ("see https://brandt.example/x?y=1 for it", r"see https://example\.com/\w+ for it"),
        ("Mary dot Smith at gmail dot com.", r"\w+ dot \w+ at \w+ dot com\."),
        ("it is four one seven, please", r"it is \w+ \w+ \w+, please"),
        ("born in nineteen seventy six", r"born in \w+teen \w+ty \w+"),
    ],
)
def test_numbers_and_addresses_keep_their_shape(text: str, shape: str) -> None:
    masked = spoken(text)[0]
    assert re.fullmatch(shape, masked)
    for kept in re.findall(r"\d+|[a-z.]+@[a-z.]+|brandt|Mary|Smith|gmail|four|seven\b", text):
        assert kept not in re.findall(r"\d+|\w+", masked)


def test_a_number_is_the_same_in_figures_in_words_and_with_other_marks() -> None:
    figures, words, marked = spoken("It is 4170.", "It is four one seven oh.", "It is 41-70.")
    digits = re.sub(r"\D", "", figures)
    names = ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine"]
    assert words == f"It is {' '.join(names[int(digit)] for digit in digits)}."
    assert marked == f"It is {digits[:2]}-{digits[2:]}."
    assert all(old != new for old, new in zip("4170", digits, strict=True))


def test_what_tools_know_of_a_person_is_masked_everywhere() -> None:
    result = {
        "first_name": "Tilda",
        "address": {"street": "Elmgate 12"},
        "reservation_id": "Q7ZX1",
        "parts": 3,
        "ok": True,
    }
    masked, text = with_call({"part": "Tilda's", "userId": "tilda_44"}, result, "Tilda here, Elmgate, booking Q7ZX1.")
    name, street, code = re.fullmatch(r"(\w+) here, (\w+), booking (\w+)\.", text).groups()  # type: ignore[union-attr]
    assert {name, street, code}.isdisjoint({"Tilda", "Elmgate", "Q7ZX1"})
    assert masked.arguments["part"] == f"{name}'s"
    assert re.fullmatch(rf"{name.lower()}_\d\d", masked.arguments["userId"])
    assert masked.result["first_name"] == name
    assert re.fullmatch(rf"{street} \d\d", masked.result["address"]["street"])
    assert masked.result["reservation_id"] == code and re.fullmatch(r"[A-Z]\d[A-Z]{2}\d", code)
    assert masked.result["ok"] is True and isinstance(masked.result["parts"], int) and masked.result["parts"] != 3


def test_a_result_in_text_stays_json_with_its_keys() -> None:
    result = '{"address1": "Elmgate 12", "note": "caf\\u00e9 77", "zip": "80331"}'
    masked, text = with_call({"part": "x"}, result, "I live in 80331, Elmgate.")
    read_back = msgspec.json.decode(masked.result)
    assert list(read_back) == ["address1", "note", "zip"]
    assert read_back["note"].startswith("café ") and "77" not in read_back["note"]
    assert text == f"I live in {read_back['zip']}, {read_back['address1'].split()[0]}."


def test_what_a_schema_allows_is_nobodys() -> None:
    masked, text = with_call({"part": "x", "shop": "north"}, {"city": "north"}, "the north shop")
    assert (masked.arguments["shop"], text) == ("north", "the north shop")
    assert redact(call(1)).recording.tools[0] == LOOK_UP


def test_a_cut_reply_stays_cut_at_the_same_word() -> None:
    said = Reply("My name is Tilda. Call 555 0142 5 now.", 4, 6, heard="My name is Tilda. Call 555")
    made = redact(replace(call(1), turns=(replace(turn(1), agent=said),), greeting=said)).recording
    for reply in (made.turns[0].agent, made.greeting):
        assert reply and reply.heard and reply.text.startswith(reply.heard)
        assert len(reply.heard.split()) == 6 and "Tilda" not in reply.text and "555" not in reply.text


def shape(recording: Recording) -> list[tuple[int, float, float]]:
    said: list[Utterance | Reply] = [one for turn in recording.turns for one in (turn.caller, turn.agent)]
    return [(len(one.text.split()), one.start, one.end) for one in said]


@pytest.mark.parametrize("name", primock.CALLS)
def test_primock_is_masked(name: str) -> None:
    made = primock.call(name)
    masked = redact(made)
    assert shape(masked.recording) == shape(made)
    assert [finding for finding in check(masked.recording) if not finding.warning] == []
    text = " ".join(turn.caller.text for turn in masked.recording.turns)
    assert not re.search(r"Itha|Mary|Smith|nineteen seventy six|twenty six", text)
    assert masked.counts["names"] >= 1 and masked.counts["numbers"] >= 2
    assert redact(made) == masked


def test_tau_bench_is_masked() -> None:
    path = primock.SHARED / "tau_bench" / "airline_75.json"
    if not path.exists():
        pytest.skip("the shared data is not here")
    made = read(path.read_bytes(), path, "openai").recording
    masked = redact(made).recording
    text = msgspec.json.encode(replace(masked, tools=())).decode()
    assert not re.search(r"aarav|ahmed|daiki|6699|willow|jacksonville|M20IZO|32131|7334|2024", text, re.IGNORECASE)
    assert shape(masked) == shape(made)
    assert [finding for finding in check(masked) if not finding.warning] == []
    assert isinstance(masked.turns[0], Turn)


def test_every_text_of_a_call_is_masked() -> None:
    said = replace(turn(1), backchannels=(Utterance("Tilda, yes", 5, 6),))
    made = replace(
        call(1, turn_1=said),
        title="Tilda 4417",
        source="Tilda 4417.json",
        system="My name is Tilda.\nCall 4417.",
        greeting=Reply("Hello Tilda", 0, 1),
        fresh="It is Tilda",
    )
    text = msgspec.json.encode(redact(made).recording).decode()
    assert text.count("Robin") == 6
    assert "Tilda" not in text and "4417" not in text


def test_keys_that_are_numbers_are_masked_in_results() -> None:
    masked, text = with_call({"part": "x"}, {"card_7334": {"left2": 1}}, "the card 7334")
    number = text.removeprefix("the card ")
    assert list(masked.result) == [f"card_{number}"] and number != "7334"
    assert list(masked.result[f"card_{number}"]) == ["left2"]


def test_allowed_values_with_numbers_stay_as_arguments() -> None:
    parameters = {"type": "object", "properties": {"slot": {"type": "string", "enum": ["slot 19"]}}}
    tool = {"type": "function", "function": {"name": "look_up", "parameters": parameters}}
    step = (ToolCall("id", "look_up", {"slot": "slot 19"}, {"n": 19, "big": 1e30}),)
    made = redact(replace(call(1), tools=(tool,), turns=(replace(turn(1), tools=(step,)),))).recording
    assert made.turns[0].tools[0][0].arguments == {"slot": "slot 19"}
    assert made.turns[0].tools[0][0].result["n"] != 19 and made.turns[0].tools[0][0].result["big"] == 1e30
    assert check(made) == []


def test_stand_ins_are_nobody_in_the_call() -> None:
    first, second = spoken("My name is Robin Marlow.", "Ask Mr Jordan.")
    assert not re.search(r"Robin|Marlow|Jordan", first + second)


def test_a_number_in_words_changes_in_every_word() -> None:
    for text in (
        "twenty one",
        "thirty two",
        "ninety nine",
        "fourteen fifty",
        "eleven twelve",
        "sixty six",
        "forty four",
    ):
        masked = spoken(f"room {text}")[0].removeprefix("room ")
        assert all(old != new for old, new in zip(text.split(), masked.split(), strict=True))


def test_a_spelled_name_is_masked_and_known_from_then_on() -> None:
    first, second = spoken("That is B, R, A, N, D, T for you.", "Yes, Brandt or b-r-a-n-d-t.")
    assert re.fullmatch(r"That is [A-Z](, [A-Z]){5} for you\.", first)
    assert re.fullmatch(r"Yes, \w+ or [a-z](-[a-z]){5}\.", second)
    assert "B, R, A" not in first and "Brandt" not in second and "b-r-a" not in second


def test_a_name_that_is_a_word_too_is_masked_with_its_capital() -> None:
    first, second = spoken("My name is Grace Will.", "I will. Grace will too.")
    name = first.split()[3]
    assert second == f"I will. {name} will too."


def test_a_code_of_letters_is_masked_a_word_under_an_id_stays() -> None:
    masked, text = with_call({"part": "x"}, {"booking_id": "HATHAT", "state_id": "open"}, "HATHAT is open")
    assert masked.result["state_id"] == "open"
    assert text == f"{masked.result['booking_id']} is open" and masked.result["booking_id"] != "HATHAT"


def test_the_provider_of_an_address_is_no_name() -> None:
    masked, text = with_call({"part": "x"}, {"email": "tilda@example.org"}, "tilda, for example")
    assert re.fullmatch(r"\w+@example\.com", masked.result["email"])
    assert text.endswith(", for example") and "tilda" not in text


def test_whose_the_call_is_is_known_from_ids_and_from_all_of_an_address() -> None:
    found = {"customerId": "tilda_x", "address": {"line": "Elmgate"}, "label": "blue"}
    _, text = with_call({"part": "x"}, found, "tilda of Elmgate, blue")
    assert re.fullmatch(r"\w+ of \w+, blue", text)
    assert not re.search("tilda|Elmgate", text)
