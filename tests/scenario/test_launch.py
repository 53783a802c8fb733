"""The command template of a launched server."""

from pathlib import Path

import pytest

from loadsim.scenario.launch import fill, names
from loadsim.scenario.load import load
from loadsim.scenario.sweep import points
from loadsim.types import BadInput

BASE = "recording: a.json\ncallers: {warm: {count: 2}}\n"
ALLOWED = (
    "(allowed: {port}, {slots}, {context}, {batch}, {ubatch}, {checkpoints}, {cache_ram}, {cache_type_k}, "
    "{cache_type_v}, {threads})"
)


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def error(text: str) -> str:
    Path("x.yaml").write_text(BASE + text)
    with pytest.raises(BadInput) as raised:
        load("x.yaml")
    return str(raised.value)


def test_a_value_never_becomes_two_words_and_json_is_no_placeholder() -> None:
    template = (
        """ssh box 'llama-server --port {port}' -m "my model.gguf" -ub={ubatch} --kw '{"thinking": false}' {port}"""
    )
    assert names(template) == ["port", "ubatch"]
    assert fill(template, {"port": 80, "ubatch": "a b"}) == [
        "ssh", "box", "llama-server --port 80", "-m", "my model.gguf", "-ub=a b", "--kw", '{"thinking": false}', "80",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("server: {launch: 'a {prot}'}", "x.yaml:3: server.launch: unknown placeholder {prot}; did you mean {port}? "
         + ALLOWED),
        ("server: {launch: 'a {model} {port}'}", f"x.yaml:3: server.launch: unknown placeholder {{model}} {ALLOWED}"),
        ("server: {launch: 'llama-server'}", "x.yaml:3: server.launch: expected {port} in it, or server.url to say "
         "where the server will be"),
        ('server: {launch: "a \'b {port}"}', "x.yaml:3: server.launch: not a command: no closing quotation"),
        ("server: {launch: '  '}", "x.yaml:3: server.launch: expected a command, such as llama-server -m model.gguf "
         "--port {port}"),
        ("server: {launch: 'a --port {port} --api-key sk-1'}", "x.yaml:3: server.launch: no secrets in a scenario; "
         "give --api-key by a file, or in the environment"),
        ("server: {launch: 'env HF_TOKEN=hf-1 a --port {port}'}", "x.yaml:3: server.launch: no secrets in a scenario; "
         "give HF_TOKEN by a file, or in the environment"),
        ("server: {launch: 'a --port {port} -mu https://u:p@h/m.gguf'}", "x.yaml:3: server.launch: no secrets in a "
         "scenario; give the name and password in a url by a file, or in the environment"),
        ("server: {launch: 'a --port {port} --hf-token=hf_1'}", "x.yaml:3: server.launch: no secrets in a scenario; "
         "give --hf-token by a file, or in the environment"),
        ("server: {launch: 'a {port} -np {slots}', slots: 1}", "x.yaml:2: callers.warm.count: 2 callers need 2 slots; "
         "the server has 1: lower callers.warm.count or raise server.slots"),
        ("server: {launch: 'a {port} {slots}'}\nsweep: {server.ubatch: [1, 2]}", "x.yaml:4: sweep.server.ubatch: "
         "{ubatch} is not in server.launch, so the server would not hear of it; those that are: {slots}"),
        ("server: {launch: 'a {port}'}\nsweep: {server.kv_unified: [true, false]}", "x.yaml:4: "
         "sweep.server.kv_unified: {kv_unified} is not in server.launch, so the server would not hear of it; "
         "no setting is"),
        ("server: {launch: 'a {port} {slots}'}\nsweep: {server.launch: [a, b]}", "x.yaml:4: sweep.server.launch: one "
         "server for all points; sweep its settings: slots, context, batch, ubatch, checkpoints, checkpoint_min_step, "
         "cache_ram, cache_idle_slots, kv_unified, cache_type_k, cache_type_v, similarity, threads"),
        ("server: {launch: 'a {prot}'}\nsweep: {server.ubatch: [1, 2]}", "x.yaml:3: server.launch: unknown "
         f"placeholder {{prot}}; did you mean {{port}}? {ALLOWED}"),
        ("server: {launch: 'a {ubatch} {port}'}\nsweep: {server.ubtach: [1, 2]}", "x.yaml:4: sweep: server.ubtach: "
         "unknown key; did you mean ubatch? (allowed: batch, cache_idle_slots, cache_ram, cache_type_k, cache_type_v, "
         "checkpoint_min_step, checkpoints, context, kv_unified, launch, restart, similarity, slots, threads, "
         "ubatch, url)"),
    ],
)  # fmt: skip
def test_what_cannot_be_launched_is_told_when_loaded(text: str, wanted: str) -> None:
    assert error(text) == wanted


def test_what_the_command_does_not_say_is_not_held_against_it() -> None:
    Path("x.yaml").write_text(BASE + "server: {launch: 'llama-server -np 12 --port {port}', slots: 1, context: 1}\n")
    assert load("x.yaml").server.launch == "llama-server -np 12 --port {port}"
    Path("x.yaml").write_text(BASE + "server: {launch: ssh box serve --port 8080, url: 'http://box:8080'}\n")
    assert load("x.yaml").server.url == "http://box:8080"


def test_its_settings_may_be_swept() -> None:
    server = "server: {launch: 'a {port} {ubatch}', url: 'http://box'}\nsweep: {server.ubatch: [512, 1024]}\n"
    Path("x.yaml").write_text(BASE + server)
    assert [(label, point.server.ubatch) for label, point in points(load("x.yaml"))] == [
        ("ubatch=512", 512), ("ubatch=1024", 1024),
    ]  # fmt: skip
