"""What stays of a reply that was cut off."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loadsim.caller.cuts import kept, retranscribe
from loadsim.types import Heard

TEXT = "Yes, I do. It is at 3.5 km."  # 27 characters; words end at 4, 6, 10, 13, 16, 19, 23 and 27
MODES: tuple[Heard, ...] = ("spoken_words", "spoken_sentences", "generated", "retranscribed")
modes = st.sampled_from(MODES)
shares = st.floats(0, 1)
texts = st.one_of(st.text(), st.text(alphabet="aB3 .,?!'’\n。", max_size=40))


@pytest.mark.parametrize(
    ("characters", "words"),
    [
        (0, ""),
        (3, ""),
        (4, "Yes,"),
        (5, "Yes,"),
        (6, "Yes, I"),
        (9, "Yes, I"),
        (10, "Yes, I do."),
        (22, "Yes, I do. It is at"),
        (23, "Yes, I do. It is at 3.5"),
        (26, "Yes, I do. It is at 3.5"),
        (27, TEXT),
    ],
)
def test_no_half_word_is_kept(characters: int, words: str) -> None:
    assert kept("spoken_words", TEXT, characters / 27) == words


@pytest.mark.parametrize(("characters", "words"), [(9, ""), (10, "Yes, I do."), (26, "Yes, I do."), (27, TEXT)])
def test_no_half_sentence_is_kept(characters: int, words: str) -> None:
    assert kept("spoken_sentences", TEXT, characters / 27) == words


def test_all_that_was_generated_is_kept() -> None:
    assert kept("generated", TEXT, 0) == TEXT


def test_a_recogniser_writes_down_the_words_that_were_spoken() -> None:
    assert kept("retranscribed", TEXT, 9 / 27) == "yes i"
    assert kept("retranscribed", TEXT, 1) == "yes i do it is at 3 5 km"
    assert kept("retranscribed", TEXT, 0) == ""


@given(st.integers(1, 200), st.data())
def test_a_word_that_ends_with_the_share_is_heard(words: int, data: st.DataObject) -> None:
    said = data.draw(st.integers(1, words))
    text = " ".join(["ab"] * words)
    assert kept("spoken_words", text, (3 * said - 1) / len(text)) == " ".join(["ab"] * said)


@given(texts)
def test_a_reply_heard_whole_stands_as_it_is(text: str) -> None:
    for mode in MODES[:3]:
        assert kept(mode, text, 1) == text


@given(st.sampled_from(MODES[:2]), texts, st.floats(0, 0.999))
def test_what_is_kept_is_a_beginning_that_ends_with_a_word(mode: Heard, text: str, heard: float) -> None:
    words = kept(mode, text, heard)
    assert text.startswith(words)
    assert len(words) < len(text) or not text
    assert len(words) <= heard * len(text) + 1e-6
    assert words == words.rstrip()
    assert not words or text[len(words)].isspace() or (mode == "spoken_sentences" and words[-1] in "。！？”’'\")]")


@given(modes, texts, shares, shares)
def test_who_hears_more_keeps_more(mode: Heard, text: str, one: float, other: float) -> None:
    less, more = sorted((one, other))
    assert kept(mode, text, more).startswith(kept(mode, text, less))


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("Sure. It's  at 10:30,\nroom 4B!", "sure it's at 10 30 room 4b"),
        ("The dogs’ bowl – isn’t 'new'.", "the dogs bowl isn't new"),
        ("**Check-up** snake_case: $3.50", "check up snake case 3 50"),
        ("Ärzte und Ämter.", "ärzte und ämter"),
        (" ... ", ""),
    ],
)
def test_a_transcript_is_lower_case_without_punctuation(text: str, written: str) -> None:
    assert retranscribe(text) == written


@given(texts)
def test_a_transcript_of_a_transcript_is_the_same(text: str) -> None:
    written = retranscribe(text)
    assert retranscribe(written) == written
    assert re.fullmatch(r"([^\W_]+('[^\W_]+)*( [^\W_]+('[^\W_]+)*)*)?", written)


@given(st.from_regex(r"[A-Z][a-z]*( [A-Za-z]+)*\.", fullmatch=True))
def test_a_transcript_of_a_normal_reply_differs_from_its_first_character_on(text: str) -> None:
    assert retranscribe(text)[0] != text[0]
