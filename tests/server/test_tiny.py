"""The tiny model, as the real server sees it: its tokens, its template, its babble."""

import asyncio
import json
import os
import statistics
import string
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from loadsim import shipped
from loadsim.recording.messages import answer_messages, prompt_messages
from loadsim.recording.model import Recording
from loadsim.server import embedded
from loadsim.server.tiny import bpe, model
from loadsim.types import ServerSettings

RECORDING = msgspec.json.decode(shipped.find("recordings", "front_desk").read_bytes(), type=Recording)
TOOLS = list(RECORDING.tools)


class Asker:
    """Posts JSON to the server."""

    def __init__(self, url: str) -> None:
        self.url = url

    def __call__(self, path: str, **body: Any) -> Any:
        request = urllib.request.Request(self.url + path, json.dumps(body).encode())
        with urllib.request.urlopen(request) as answer:
            return json.load(answer)


@pytest.fixture(scope="module")
def ask(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Asker]:
    settings = ServerSettings(slots=2, context=65536)
    with asyncio.Runner() as runner:
        server = runner.run(embedded.start(settings, tmp_path_factory.mktemp("tiny") / "server.log"))
        yield Asker(server.ready["url"])
        runner.run(server.stop())


def tokens(ask: Asker, text: str) -> list[int]:
    found: list[int] = ask("/tokenize", content=text)["tokens"]
    return found


def render(ask: Asker, messages: list[dict[str, Any]], tools: list[dict[str, Any]] | None = None) -> str:
    prompt: str = ask("/apply-template", messages=messages, **({"tools": tools} if tools else {}))["prompt"]
    return prompt


def test_a_spaced_digit_is_one_token_wherever_it_stands(ask: Asker) -> None:
    alone = [tokens(ask, f" {digit}") for digit in string.digits]
    assert [len(found) for found in alone] == [1] * 10
    salt = "ref 4 0 7 1 9 9 3 2 8 5 6"
    ref = tokens(ask, "ref")
    assert tokens(ask, salt) == [*ref, *(alone[int(digit)][0] for digit in salt[3:].split())]
    assert len(tokens(ask, " 77,")) == 3


def test_every_printable_character_survives(ask: Asker) -> None:
    for text in (
        string.printable,
        "".join(f"{character}{character} x" for character in string.printable),
        "naïve – 10 €",
    ):
        assert ask("/detokenize", tokens=tokens(ask, text))["content"] == text


def test_turn_and_tool_marks_are_single_tokens(ask: Asker) -> None:
    for mark in ("<|im_start|>", "<|im_end|>", "<tool_call>", "</tool_call>", "<tool_response>", "<think>"):
        assert len(tokens(ask, mark)) == 1


def test_speech_takes_few_tokens_per_word(ask: Asker) -> None:
    spoken = " ".join(turn.caller.text + " " + turn.agent.text for turn in RECORDING.turns)
    assert len(tokens(ask, spoken)) / len(spoken.split()) < 1.35


def test_our_encoder_agrees_with_the_server(ask: Asker) -> None:
    ours = msgspec.json.decode((Path(bpe.__file__).parent / "tokenizer.json").read_bytes(), type=bpe.Bpe)
    assert len(ours.tokens) == len(set(ours.tokens)) == 4096
    texts = [turn.agent.text for turn in RECORDING.turns]
    for text in [*texts, "I'll say  it's 12 o'clock\n\n at\tB-7 , can't_I ", json.dumps(TOOLS)]:
        assert ours.encode(text) == tokens(ask, text)


def test_template_in_full(ask: Asker) -> None:
    call = {"id": "c1", "type": "function", "function": {"name": "find", "arguments": '{"name":"Ann"}'}}
    messages: list[dict[str, Any]] = [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "Am I booked?"},
        {"role": "assistant", "content": "", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c1", "content": '{"booked":true}'},
        {"role": "assistant", "content": "You are."},
        {"role": "user", "content": "Thanks."},
    ]
    assert render(ask, messages) == (
        "<|im_start|>system\nBe brief.<|im_end|>\n"
        "<|im_start|>user\nAm I booked?<|im_end|>\n"
        '<|im_start|>assistant\n<tool_call>\n{"name": "find", "arguments": {"name": "Ann"}}\n</tool_call><|im_end|>\n'
        '<|im_start|>tool\n<tool_response>\n{"booked":true}\n</tool_response><|im_end|>\n'
        "<|im_start|>assistant\nYou are.<|im_end|>\n"
        "<|im_start|>user\nThanks.<|im_end|>\n"
        "<|im_start|>assistant\n"
    )


def test_tools_stand_in_the_system_message(ask: Asker) -> None:
    system, rest = render(ask, prompt_messages(RECORDING, 1), TOOLS).split("<|im_end|>", 1)
    assert system.startswith("<|im_start|>system\n" + RECORDING.system)
    listed = system.split("<tools>\n")[1].split("\n</tools>")[0].splitlines()
    assert [json.loads(line) for line in listed] == TOOLS
    assert rest.endswith(f"{RECORDING.turns[0].caller.text}<|im_end|>\n<|im_start|>assistant\n")


def test_each_prompt_is_a_prefix_of_the_next(ask: Asker) -> None:
    """Through tool steps and replies, so that a turn only ever extends what its slot holds."""
    before = ""
    for number, turn in enumerate(RECORDING.turns, 1):
        messages = prompt_messages(RECORDING, number)
        answers = answer_messages(turn)
        for after in range(len(answers)):
            if answers[after]["role"] == "assistant":
                prompt = render(ask, messages + answers[:after], TOOLS)
                assert prompt.startswith(before)
                assert len(prompt) > len(before)
                before = prompt


def test_it_ends_its_turns_at_lengths_like_the_agents(ask: Asker) -> None:
    agent = statistics.mean(len(tokens(ask, turn.agent.text)) for turn in RECORDING.turns)
    replies = [
        ask("/v1/chat/completions", messages=prompt_messages(RECORDING, 1), seed=seed, max_tokens=1000)
        for seed in range(60)
    ]
    assert all(reply["choices"][0]["finish_reason"] == "stop" for reply in replies)
    mean = statistics.mean(reply["usage"]["completion_tokens"] for reply in replies)
    assert 0.6 * agent < mean < 1.6 * agent


def test_it_speaks_the_agents_words(ask: Asker) -> None:
    """With tools and tool results in the prompt it still streams plain text."""
    known = {word.strip(".,?!") for turn in RECORDING.turns for word in turn.agent.text.split()}
    reply = ask(
        "/v1/chat/completions",
        messages=prompt_messages(RECORDING, 4),
        tools=TOOLS,
        seed=1,
        max_tokens=400,
        ignore_eos=True,
    )
    assert reply["choices"][0]["finish_reason"] == "length"
    assert reply["usage"]["completion_tokens"] == 400
    words = [word.strip(".,?!") for word in reply["choices"][0]["message"]["content"].split()]
    assert len(words) > 200
    assert sum(word in known for word in words) / len(words) > 0.8


def test_the_model_is_named_by_what_it_is_made_from(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    first, second = model.model_path(["Yes, of course."]), model.model_path(["No, sorry."])
    assert first.parent == second.parent == tmp_path / "loadsim"
    assert first != second
    again = tmp_path / "again.gguf"
    model.write_model(again, ["Yes, of course."])
    assert again.read_bytes() == first.read_bytes()
    assert first.stat().st_size < 3e6


def test_a_cache_folder_that_is_not_absolute_counts_for_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    for named in ("cache", "", "."):
        monkeypatch.setenv("XDG_CACHE_HOME", named)
        assert model.model_path(["Yes."]).parent == tmp_path / "home" / ".cache" / "loadsim"
    assert [each.name for each in tmp_path.iterdir()] == ["home"]


def test_a_cache_folder_that_cannot_be_written_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    with pytest.raises(OSError, match=rf"cannot write the model into {tmp_path}/file/loadsim: Not a directory; XDG_C"):
        model.model_path(["Yes."])


def test_two_processes_may_write_it_at_once(tmp_path: Path) -> None:
    code = "from loadsim.server.tiny.model import model_path; print(model_path(['Hello there.']))"
    environment = {**os.environ, "XDG_CACHE_HOME": str(tmp_path)}
    writers = [
        subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True, env=environment)
        for _ in range(3)
    ]
    paths = {writer.communicate()[0].strip() for writer in writers}
    assert [str(path) for path in (tmp_path / "loadsim").iterdir()] == list(paths)
