"""The command of a run, as it can be given again."""

import click
from click.testing import CliRunner

from loadsim.cli import again
from loadsim.cli.plan.callers import callers
from loadsim.cli.scenario import scenario


def words_of(command: click.Command, path: str, *args: str) -> list[str]:
    """What `again` says within the command."""
    context = command.make_context(path, list(args))
    with context:
        return again.words()


def test_what_was_given_and_no_default() -> None:
    given = ["twelve_callers", "--url", "http://h:1", "--set", "repeat=2", "--set", "reply={free: 120}", "--no-text"]
    assert words_of(scenario, "loadsim scenario", *given, "--out", "x") == ["loadsim", "scenario", *given]
    assert words_of(scenario, "loadsim scenario", "a.yaml") == ["loadsim", "scenario", "a.yaml"]


def test_the_words_mean_the_same_command() -> None:
    given = ["a.yaml", "--slo", "ttft p95 <= 1 s", "--slo", "errors < 1 %", "--most", "8", "--together-only"]
    words = words_of(callers, "loadsim plan callers", *given)
    assert words[:3] == ["loadsim", "plan", "callers"]
    assert callers.make_context("x", words[3:]).params == callers.make_context("x", given).params


def test_a_secret_is_masked() -> None:
    words = words_of(scenario, "loadsim scenario", "a", "--url", "http://u:secret1@h")
    assert words[-1] == "http://***@h"


def test_every_command_with_a_run_can_be_asked() -> None:
    assert CliRunner().invoke(scenario, ["--schema"]).exit_code == 0


def test_what_has_its_default_is_left_out() -> None:
    assert words_of(callers, "loadsim plan callers", "a.yaml") == ["loadsim", "plan", "callers", "a.yaml"]
