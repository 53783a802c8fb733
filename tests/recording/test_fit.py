"""Fitting a call to an exact prompt length, with tokenizers that count in different ways."""

import asyncio
import json
import re
from collections.abc import Callable

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from loadsim.recording.check import check
from loadsim.recording.fit import KEPT, fit, padded, plain_turns, without
from loadsim.recording.load import load
from loadsim.recording.messages import prompt_messages
from loadsim.recording.model import Pause, Recording, Reply
from loadsim.types import BadInput

from .calls import call, turn, with_tool

FRONT_DESK = load("front_desk")
CALL = call(30, **{f"turn_{n}": with_tool(turn(n), f"id{n}") for n in (1, 3, 12, 25)})

Tokenizer = Callable[[str], int]


def prompt(recording: Recording) -> str:
    """Some template or other."""
    said = prompt_messages(recording, len(recording.turns))
    return json.dumps([*recording.tools, *said]) + "<assistant>"


def longest(pieces: set[str]) -> Tokenizer:
    """Takes the longest of `pieces` from the left over, across words, or a character: not additive, as a text has
    fewer tokens than its halves."""
    most = max(map(len, pieces), default=1)

    def tokens(text: str) -> int:
        at = count = 0
        while at < len(text):
            at += next((n for n in range(most, 1, -1) if text[at : at + n] in pieces), 1)
            count += 1
        return count

    return tokens


WHOLE = prompt(FRONT_DESK)
PIECES = {WHOLE[at : at + 2 + at % 8] for at in range(0, len(WHOLE), 7)}

TOKENIZERS: dict[str, Tokenizer] = {
    "four characters": lambda text: len(text) // 4,
    "words": lambda text: len(text.split()),
    "bytes": lambda text: len(text.encode()),
    "words and marks": lambda text: len(re.findall(r"\w+|[^\w\s]|\s", text)),
    "pieces": longest(PIECES),
}


class Counter:
    """A counting function that counts how often it is asked."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        self.tokenizer = tokenizer
        self.asked = 0

    async def __call__(self, recording: Recording) -> int:
        self.asked += 1
        return self.tokenizer(prompt(recording))


def fitted(recording: Recording, tokenizer: Tokenizer, target: int) -> tuple[Recording, int]:
    """The fitted call, and how many counts that took."""
    count = Counter(tokenizer)
    made = asyncio.run(fit(recording, count, target))
    assert tokenizer(prompt(made)) == target
    return made, count.asked


def test_a_call_that_fits_is_left_alone() -> None:
    made, asked = fitted(CALL, len, len(prompt(CALL)))
    assert made is CALL
    assert asked == 1


@pytest.mark.parametrize("name", TOKENIZERS)
@pytest.mark.parametrize("share", [0.7, 0.93, 0.999, 1.0001, 1.07, 3.0])
def test_it_is_exact_in_few_counts(name: str, share: float) -> None:
    tokenizer = TOKENIZERS[name]
    made, asked = fitted(FRONT_DESK, tokenizer, round(tokenizer(prompt(FRONT_DESK)) * share))
    assert asked <= 25
    assert check(made) == []


@settings(max_examples=60)
@given(st.sampled_from(sorted(TOKENIZERS)), st.floats(0.7, 1.5))
def test_any_target_in_reach_is_met(name: str, share: float) -> None:
    tokenizer = TOKENIZERS[name]
    made, asked = fitted(CALL, tokenizer, round(tokenizer(prompt(CALL)) * share))
    assert asked <= 40
    assert check(made) == []


@settings(max_examples=25)
@example({" t", "d "}, 242)
@given(st.sets(st.text("theisoanld .,", min_size=2, max_size=7), max_size=40), st.integers(1, 400))
def test_any_pieces_will_do(known: set[str], more: int) -> None:
    tokenizer = longest(known)
    fitted(CALL, tokenizer, tokenizer(prompt(CALL)) + more)


def test_a_short_call_gets_words_at_the_end_of_its_system_prompt() -> None:
    made, _ = fitted(CALL, TOKENIZERS["words"], TOKENIZERS["words"](prompt(CALL)) + 3)
    assert made.system == "You answer the phone. The line is"
    assert made.turns == CALL.turns


def test_a_long_call_loses_plain_turns_from_the_second_on() -> None:
    words = TOKENIZERS["words"]
    enough = words(prompt(without(CALL, [1, 3, 4])))
    made, _ = fitted(CALL, words, enough)
    assert [turn.caller.text for turn in made.turns] == [
        turn.caller.text for number, turn in enumerate(CALL.turns, 1) if number not in (2, 4, 5)
    ]
    assert made.system == CALL.system
    made, _ = fitted(CALL, words, enough + 1)
    assert len(made.turns) == 27
    assert made.system == "You answer the phone. The"


def test_tool_turns_and_the_last_ten_stay() -> None:
    assert plain_turns(CALL) == [n for n in range(1, 20) if n not in (2, 11)]
    assert plain_turns(call(KEPT)) == plain_turns(call(KEPT + 1)) == []
    assert plain_turns(call(KEPT + 2)) == [1]


def test_the_times_close_up() -> None:
    made = without(CALL, [1, 2, 4])
    assert [turn.caller.start for turn in made.turns][:4] == [0.0, 10.0, 20.0, 30.0]
    assert [turn.agent.end for turn in made.turns][:4] == [7.0, 17.0, 27.0, 37.0]
    assert made.turns[0] is CALL.turns[0]
    assert without(CALL, []).turns == CALL.turns


def test_pauses_move_along_and_the_greeting_stays() -> None:
    last = turn(5)
    last = replace(last, caller=replace(last.caller, pauses=(Pause(3, 41.0, 42.5),)))
    made = without(replace(call(5, turn_5=last), greeting=Reply("Hello.", 0.0, 0.0)), [1, 3])
    assert made.turns[-1].caller.pauses == (Pause(3, 21.0, 22.5),)
    assert made.greeting == Reply("Hello.", 0.0, 0.0)


def test_too_few_tokens_say_both_numbers() -> None:
    words = TOKENIZERS["words"]
    whole, least = words(prompt(CALL)), words(prompt(without(CALL, plain_turns(CALL))))
    fitted(CALL, words, least)
    with pytest.raises(BadInput, match=f"{least - 1:,} tokens are too few .* has {whole:,}, and {least:,} without"):
        fitted(CALL, words, least - 1)
    with pytest.raises(BadInput, match=r"1 tokens are too few for this call: it has 9, and 9 without"):
        fitted(call(1), lambda _: 9, 1)


def test_a_length_between_two_that_can_be_made_says_so() -> None:
    count = Counter(lambda text: 2 * len(text.split()))
    even = count.tokenizer(prompt(CALL))
    with pytest.raises(BadInput, match=f"no call of exactly {even + 5:,} tokens .* {even + 4:,} is the nearest below"):
        asyncio.run(fit(CALL, count, even + 5))
    assert count.asked <= 45


def test_a_server_that_drops_the_system_prompt_is_found_out() -> None:
    count = Counter(lambda text: 100)
    with pytest.raises(BadInput, match=r"^fit: 5,000 tokens are out of reach: [\d,]+ words more make 100$"):
        asyncio.run(fit(CALL, count, 5000))
    assert count.asked < 10


def test_padding_repeats_itself_when_it_must() -> None:
    assert padded(CALL, 0) == CALL
    assert padded(CALL, 500, ".").system.count("The line is open") > 5
