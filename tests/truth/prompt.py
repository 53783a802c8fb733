"""A toy template and a toy tokenizer: same text, same tokens; a longer chat begins with the shorter one."""

import re
import zlib
from collections.abc import Sequence
from typing import Any

import msgspec

Message = dict[str, Any]

TEMPLATE = (
    "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
_PIECE = re.compile(r"<\|\w+\|>|\w+|[^\w\s]|\s+")


def tokenize(text: str) -> list[int]:
    """One token per `<|mark|>`, per word, per punctuation character and per run of white space.

    A token's number is the CRC-32 of its bytes, less the top bit.
    """
    return [zlib.crc32(piece.encode()) & 0x7FFFFFFF for piece in pieces(text)]


def pieces(text: str) -> list[str]:
    """The tokens' texts; joined they are `text`."""
    return _PIECE.findall(text)


def render(messages: Sequence[Message], tools: Sequence[Any] = ()) -> str:
    """The chat as ChatML: tools first, then the messages, then the assistant's opening.

    As in llama-server, an assistant message at the end is the beginning of the reply: it stays open.
    """
    parts = ["<|im_start|>tools\n" + msgspec.json.encode(list(tools)).decode() + "<|im_end|>\n"] if tools else []
    parts += [f"<|im_start|>{message['role']}\n{_content(message)}<|im_end|>\n" for message in messages]
    if messages and messages[-1]["role"] == "assistant":
        return "".join(parts).removesuffix("<|im_end|>\n")
    return "".join(parts) + "<|im_start|>assistant\n"


def _content(message: Message) -> str:
    content = message.get("content") or ""
    if not isinstance(content, str):
        content = "".join(part.get("text", "") for part in content)
    calls = message.get("tool_calls")
    return content + msgspec.json.encode(calls).decode() if calls else content


def common_prefix(a: list[int], b: list[int]) -> int:
    """How many tokens both begin with."""
    low, high = 0, min(len(a), len(b))
    while low < high:  # halving compares in C; counting one by one costs milliseconds on a long prompt
        middle = (low + high + 1) // 2
        if a[low:middle] == b[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low
