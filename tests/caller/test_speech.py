"""First chunks and sentences: each rule's own ends, and that nothing changes as more of the reply comes."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loadsim.caller.speech import first_chunk, sentences
from loadsim.types import Chunk

RULES: tuple[Chunk, ...] = ("clause", "sentence", "livekit")
rules = st.sampled_from(RULES)
# Few characters, so that marks, digits, quotes and white space meet.
texts = st.text(alphabet="ab5 .,?!:;\"'”)\n。！？，", max_size=40)


@pytest.mark.parametrize("mark", list(",.?!;:，、；：。！？"))
def test_a_clause_ends_at_its_first_mark_at_once(mark: str) -> None:
    assert first_chunk("clause", "Yes") is None
    assert first_chunk("clause", f"Yes{mark}") == 4
    assert first_chunk("clause", f"Yes{mark} and no. More") == 4


@pytest.mark.parametrize("mark", [".", ",", ":"])
def test_a_mark_in_a_number_ends_no_clause(mark: str) -> None:
    assert first_chunk("clause", f"It is 3{mark}") is None  # a digit may follow
    assert first_chunk("clause", f"It is 3{mark}5 per day") is None
    assert first_chunk("clause", f"It is 3{mark}5, yes") == 10
    assert first_chunk("clause", f"It is 3{mark} Then") == 8
    assert first_chunk("clause", f"It is 3{mark}", whole=True) == 8


def test_a_question_mark_after_a_digit_waits_for_nothing() -> None:
    assert first_chunk("clause", "Is it 3?") == 8


def test_a_mark_after_a_letter_ends_a_clause_even_before_a_digit() -> None:
    assert first_chunk("clause", "At,") == first_chunk("clause", "At,5") == 3


@pytest.mark.parametrize("mark", [".", "?", "!"])
@pytest.mark.parametrize("space", [" ", "\n"])
def test_a_sentence_ends_once_white_space_follows(mark: str, space: str) -> None:
    assert first_chunk("sentence", f"Yes, it is{mark}") is None
    assert first_chunk("sentence", f"Yes, it is{mark}{space}") == 11
    assert first_chunk("sentence", f"Yes, it is{mark}{space}And no. More") == 11


def test_a_number_is_no_end_of_a_sentence() -> None:
    assert first_chunk("sentence", "Take 3.5 of it. ") == 15


@pytest.mark.parametrize("mark", [",", ";", ":", "，"])
def test_a_clause_is_no_sentence(mark: str) -> None:
    assert first_chunk("sentence", f"Yes{mark} and") is None


def test_a_sentence_takes_its_closing_quotes_and_marks_with_it() -> None:
    assert first_chunk("sentence", 'He said "no." So') == 13
    assert first_chunk("sentence", "(Yes.) So") == 6
    assert first_chunk("sentence", "Well?! So") == 6


@pytest.mark.parametrize("mark", ["。", "！", "？"])
@pytest.mark.parametrize("rule", RULES)
def test_a_wide_mark_ends_all_at_once(rule: Chunk, mark: str) -> None:
    text = "请稍等我马上为您查询一下您的预约时间好吗" + mark
    assert first_chunk(rule, text[:-1]) is None
    assert first_chunk(rule, text) == 21


@pytest.mark.parametrize(
    ("text", "end"),
    [
        ("Sure. ", None),
        ("Sure. I can do that. And more. ", 20),  # 20 characters are enough
        ("Sure. I can do tha. And more. ", 29),  # 19 are not
        ("  Sure. I can do tha. And more. ", 31),  # nor are they with white space before them
        ("I have found the number that you need. ", 38),
        ("I have found the number, and it is: 5", None),
    ],
)
def test_livekit_joins_short_sentences(text: str, end: int | None) -> None:
    assert first_chunk("livekit", text) == end


@pytest.mark.parametrize("rule", RULES)
def test_a_chunk_has_something_to_say(rule: Chunk) -> None:
    opening = "... " * 10
    assert first_chunk(rule, opening) is None
    assert first_chunk(rule, opening + "Well. ") == len(opening) + 5


def test_a_digit_is_something_to_say() -> None:
    assert first_chunk("clause", "5, ") == first_chunk("sentence", "5. ") == 2


@pytest.mark.parametrize("rule", RULES)
def test_a_whole_reply_without_an_end_is_its_own_chunk(rule: Chunk) -> None:
    assert first_chunk(rule, "I see \n") is None
    assert first_chunk(rule, "I see \n", whole=True) == 5
    assert first_chunk(rule, "...", whole=True) == 3


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("text", ["", " \n"])
def test_a_blank_reply_has_no_chunk(rule: Chunk, text: str) -> None:
    assert first_chunk(rule, text, whole=True) is None


def test_a_whole_reply_still_begins_with_its_first_chunk() -> None:
    assert first_chunk("clause", "Yes, it is.", whole=True) == 4
    assert first_chunk("sentence", "Yes. It is.", whole=True) == 4
    assert first_chunk("livekit", "Yes. It is.", whole=True) == 11


@given(rules, texts, texts, st.booleans())
def test_a_chunk_once_there_stays(rule: Chunk, text: str, more: str, whole: bool) -> None:
    end = first_chunk(rule, text)
    if end is not None:
        assert first_chunk(rule, text + more, whole) == first_chunk(rule, text, whole=True) == end


@given(rules, texts)
def test_a_chunk_lies_within_the_text_and_is_found_for_all_but_blank(rule: Chunk, text: str) -> None:
    end = first_chunk(rule, text, whole=True)
    assert (end is None) == (not text.strip())
    assert end is None or (0 < end <= len(text) and not text[end - 1].isspace())


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("", []),
        (" ", [" "]),
        ("No end", ["No end"]),
        ("One. Two?  Three", ["One. ", "Two?  ", "Three"]),
        ("One.\n\nTwo.", ["One.\n\n", "Two."]),
        ("At 3.5 km. Then", ["At 3.5 km. ", "Then"]),
        ('"No." Well... so?! Yes.', ['"No." ', "Well... ", "so?! ", "Yes."]),
        ("好。「是吗？！」 对。", ["好。", "「是吗？！」 ", "对。"]),
    ],
)
def test_sentences(text: str, parts: list[str]) -> None:
    assert sentences(text) == parts


@given(texts)
def test_sentences_join_to_the_text_again(text: str) -> None:
    parts = sentences(text)
    assert "".join(parts) == text
    assert all(parts)
    assert not any(part[0].isspace() for part in parts[1:])
