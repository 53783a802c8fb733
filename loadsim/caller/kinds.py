"""What a prompt was to its slot, told from the server's own counts."""

from ..types import Kind

FULL_HIT_TOKENS = 4  # llama-server evaluates the last 4 tokens of a prompt that it holds whole


def kind(cache_n: int | None, prompt_n: int | None, held: int | None, opening: int) -> Kind | None:
    """The kind of a prompt of which `cache_n` tokens were reused and `prompt_n` evaluated.

    `held`: tokens that the caller's slot held before (None: nothing is known, nothing is held); `opening`: tokens that
    every prompt of this template shares. None where the server does not tell its counts.
    """
    if cache_n is None or prompt_n is None:
        return None
    if cache_n <= opening:
        return "cold"
    if held is None:
        return "rewind"
    if prompt_n <= FULL_HIT_TOKENS and cache_n + prompt_n <= held:
        return "full_hit"
    return "extension" if cache_n >= held else "rewind"
