"""Secrets are found where people write them, and masked where text is shown."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loadsim.scenario.secret import is_secret, masked, masked_data, secrets

KEY = "Zk9f3Qp7Lm2x"

HOLDING = [
    ("llama-server --api-key {} -np 4", "--api-key"),
    ("llama-server --api-key={} -np 4", "--api-key"),
    ("llama-server --api-key '{}' -np 4", "--api-key"),
    ("llama-server -hft {}", "-hft"),
    ("env LLAMA_API_KEY={} llama-server", "LLAMA_API_KEY"),
    ("ssh gpu HF_TOKEN={} llama-server", "HF_TOKEN"),
    ("env GITHUB_TOKEN='{}' run", "GITHUB_TOKEN"),
    ("llama-server -mu https://me:{}@host/m.gguf", "the name and password in a url"),
    ("llama-server -mu https://{}@host/m.gguf", "the name and password in a url"),
    ("llama-server -mu 'https://host/m.gguf?key={}&a=1'", "the url's key"),
    ("llama-server -mu https://host/m.gguf?X-Amz-Signature={}", "the url's X-Amz-Signature"),
    ("curl -H 'Authorization: Bearer {}' http://host", "Authorization"),
    ("curl -H 'X-Api-Key: {}' http://host", "X-Api-Key"),
]


@pytest.mark.parametrize(("command", "name"), HOLDING)
def test_a_command_that_holds_a_secret(command: str, name: str) -> None:
    assert name in list(secrets(command.format(KEY)))
    hidden = masked(command.format(KEY))
    assert KEY not in hidden and "***" in hidden
    assert not [word for word in hidden.split() if word == KEY]


@pytest.mark.parametrize("command", [
    "llama-server -m model.gguf -ngl 99 -np {slots} -c {context} --port {port}",
    "llama-server --api-key-file /run/key --chat-template-kwargs '{\"enable_thinking\": false}'",
    "llama-server -mu https://huggingface.co/a/b/resolve/main/m.gguf?download=true",
    "ssh -tt me@gpu-box llama-server --host 0.0.0.0",
    "callers.warm.count=4", "max_tokens=45", "a == b", "",
])  # fmt: skip
def test_a_command_that_holds_none_stays_as_it_is(command: str) -> None:
    assert list(secrets(command)) == []
    assert masked(command) == command


def test_text_of_a_server_that_echoes_a_key() -> None:
    assert (
        masked("HTTP 401: Incorrect API key provided: sk-abcdefgh1234.")
        == "HTTP 401: Incorrect API key provided: sk-***."
    )
    assert masked("sent Bearer abcdefghijkl to it") == "sent Bearer *** to it"


def test_data_is_masked_by_its_names_too() -> None:
    data = {"request": {"api_key": KEY, "stop": ["a"]}, "server": {"launch": f"x --api-key {KEY}", "slots": 4}}
    assert masked_data(data) == {
        "request": {"api_key": "***", "stop": ["a"]}, "server": {"launch": "x --api-key ***", "slots": 4}}  # fmt: skip
    assert masked_data({"token": None, "password": ""}) == {"token": None, "password": ""}


@given(st.text(), st.sampled_from(HOLDING), st.text())
def test_no_text_around_brings_a_secret_back(before: str, holding: tuple[str, str], after: str) -> None:
    command = holding[0].replace("{}", KEY)
    assert KEY not in masked(f"{before} {command} {after}") or KEY in before + after


@given(st.text())
def test_masked_text_stays_as_it_is(text: str) -> None:
    assert masked(masked(text)) == masked(text)


def test_names() -> None:
    assert all(map(is_secret, ("api_key", "--api-key", "X-API-KEY", "client_secret", "HF_TOKEN", "token")))
    assert not any(map(is_secret, ("max_tokens", "key", "--n-predict", "stop_token", "--api-key-file", "tokens")))
