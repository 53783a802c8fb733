"""Text and data without the secrets that servers and old runs may put in them."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loadsim.scenario.secret import masked, masked_data

SECRET = "s3cr3t-Hunter2-Abcdefgh"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        (f"http://anna:{SECRET}@box:8080/v1", "http://***@box:8080/v1"),
        (f"cannot connect to https://{SECRET}@box", "cannot connect to https://***@box"),
        (f"http://box/v1?model=m&key={SECRET}&x=1", "http://box/v1?model=m&key=***&x=1"),
        (f"http://box/v1?api_key={SECRET}", "http://box/v1?api_key=***"),
        (f"http://box/?access_token={SECRET}#end", "http://box/?access_token=***#end"),
        (f"Authorization: Bearer {SECRET}", "Authorization: Bearer ***"),
        (f"llama-server --api-key {SECRET} -np 12", "llama-server --api-key *** -np 12"),
        (f"llama-server --api-key={SECRET} -np 12", "llama-server --api-key=*** -np 12"),
        (f'HTTP 401: {{"api_key": "{SECRET}"}}', 'HTTP 401: {"api_key": "***"}'),
        ("Incorrect API key provided: sk-proj-abcdefghijklmnop1234", "Incorrect API key provided: sk-***"),
        ("no token hf_abcdefghijklmnopqrst", "no token hf_***"),
        (f"the cloud's api-key: {SECRET}", "the cloud's api-key: ***"),
        (f"auth_token: {SECRET}, port: 80", "auth_token: *** port: 80"),
        ("fatal: github_pat_11ABCDEFG0abcdefghij", "fatal: github_pat_***"),
        ("AccessDenied for AKIAIOSFODNN7EXAMPLE", "AccessDenied for AKIA***"),
    ],
)
def test_what_is_secret_is_hidden_and_the_rest_stays(text: str, shown: str) -> None:
    assert masked(text) == shown


@pytest.mark.parametrize(
    "text",
    [
        "12 warm",
        "server.slots=12",
        "mail me@example.org",
        "callers.warm.token=3",
        "http://box:8080/v1/chat?model=m",
        "the first token: 12 ms",
        "task-key-value sk-8",
        "monkey=banana",
        "first token: 12 ms, max_tokens: 120",
    ],
)
def test_what_is_none_stays(text: str) -> None:
    assert masked(text) == text


def test_whole_trees_are_masked_by_value_and_by_name() -> None:
    tree = {"url": f"http://a:{SECRET}@box", "list": [f"?key={SECRET}", 3, None], "api_key": SECRET, "tokens": 7}
    assert masked_data(tree) == {"url": "http://***@box", "list": ["?key=***", 3, None], "api_key": "***", "tokens": 7}


@given(st.text())
def test_masking_again_changes_nothing(text: str) -> None:
    assert masked(masked(text)) == masked(text)


@pytest.mark.parametrize("text", ["a" * 100_000, "sk-" * 33_000, "a." * 50_000, "a_" * 50_000 + "b: c"])
def test_a_long_word_takes_no_long_time(text: str) -> None:
    began = time.process_time()
    masked(text)
    assert time.process_time() - began < 10  # a search from each letter on takes minutes
