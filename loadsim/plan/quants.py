"""GGUF's tensor types: their numbers and sizes, and what the quantizer takes where a row does not fit."""

from typing import NamedTuple


class Quant(NamedTuple):
    """A tensor type: `bytes` hold `block` weights; a row is a whole number of blocks."""

    name: str
    block: int
    bytes: int

    @property
    def bits(self) -> float:
        """Per weight."""
        return 8 * self.bytes / self.block

    def size(self, weights: int) -> int:
        """Bytes of that many weights, a whole number of blocks."""
        return weights // self.block * self.bytes


# Numbers as in ggml's enum ggml_type; the gaps are types that no longer exist.
QUANTS = {
    0: Quant("F32", 1, 4),
    1: Quant("F16", 1, 2),
    2: Quant("Q4_0", 32, 18),
    3: Quant("Q4_1", 32, 20),
    6: Quant("Q5_0", 32, 22),
    7: Quant("Q5_1", 32, 24),
    8: Quant("Q8_0", 32, 34),
    9: Quant("Q8_1", 32, 40),
    10: Quant("Q2_K", 256, 84),
    11: Quant("Q3_K", 256, 110),
    12: Quant("Q4_K", 256, 144),
    13: Quant("Q5_K", 256, 176),
    14: Quant("Q6_K", 256, 210),
    15: Quant("Q8_K", 256, 292),
    16: Quant("IQ2_XXS", 256, 66),
    17: Quant("IQ2_XS", 256, 74),
    18: Quant("IQ3_XXS", 256, 98),
    19: Quant("IQ1_S", 256, 50),
    20: Quant("IQ4_NL", 32, 18),
    21: Quant("IQ3_S", 256, 110),
    22: Quant("IQ2_S", 256, 82),
    23: Quant("IQ4_XS", 256, 136),
    24: Quant("I8", 1, 1),
    25: Quant("I16", 1, 2),
    26: Quant("I32", 1, 4),
    27: Quant("I64", 1, 8),
    28: Quant("F64", 1, 8),
    29: Quant("IQ1_M", 256, 56),
    30: Quant("BF16", 1, 2),
    34: Quant("TQ1_0", 256, 54),
    35: Quant("TQ2_0", 256, 66),
    39: Quant("MXFP4", 32, 17),
    40: Quant("NVFP4", 64, 36),
    41: Quant("Q1_0", 128, 18),
}
BY_NAME = {quant.name: quant for quant in QUANTS.values()}

WIDE = 256  # weights in a block of the k and i quants
_FALLBACK = {  # llama-quantize, where a row does not divide by 256
    "IQ4_NL": ("IQ1_S", "IQ1_M", "IQ2_XXS", "IQ2_XS", "IQ2_S", "IQ3_XXS", "IQ3_S", "IQ4_XS"),
    "Q4_0": ("Q2_K", "Q3_K", "TQ1_0", "TQ2_0"),
    "Q5_0": ("Q4_K",),
    "Q5_1": ("Q5_K",),
    "Q8_0": ("Q6_K",),
}
_NEAREST = {"IQ4_NL": "IQ4_XS", "Q4_0": "Q3_K", "Q5_0": "Q4_K", "Q5_1": "Q5_K", "Q8_0": "Q6_K"}

# `general.file_type`: what the file was asked to be, and the type that most of its tensors then have.
FILES = {
    10: ("Q2_K", "Q2_K"),
    11: ("Q3_K_S", "Q3_K"),
    12: ("Q3_K_M", "Q3_K"),
    13: ("Q3_K_L", "Q3_K"),
    14: ("Q4_K_S", "Q4_K"),
    15: ("Q4_K_M", "Q4_K"),
    16: ("Q5_K_S", "Q5_K"),
    17: ("Q5_K_M", "Q5_K"),
    18: ("Q6_K", "Q6_K"),
    19: ("IQ2_XXS", "IQ2_XXS"),
    20: ("IQ2_XS", "IQ2_XS"),
    21: ("Q2_K_S", "Q2_K"),
    22: ("IQ3_XS", "IQ3_S"),
    23: ("IQ3_XXS", "IQ3_XXS"),
    24: ("IQ1_S", "IQ1_S"),
    26: ("IQ3_S", "IQ3_S"),
    27: ("IQ3_M", "IQ3_S"),
    28: ("IQ2_S", "IQ2_XS"),
    29: ("IQ2_M", "IQ2_S"),
    30: ("IQ4_XS", "IQ4_XS"),
    31: ("IQ1_M", "IQ1_M"),
    36: ("TQ1_0", "TQ1_0"),
    37: ("TQ2_0", "TQ2_0"),
}


def wanted(kind: str, row: int, file_type: int | None) -> str | None:
    """The 256-wide type for which a tensor of `kind` and that row length stands in; None: it stands in for none.

    Only a file that was asked to be of such a type (`general.file_type`) has stand-ins. Several types fall back to one:
    it is then the file's main type, or the nearest in size where that is not among them.
    """
    asked = FILES.get(file_type or 0)
    if asked is None or row % WIDE == 0 or kind not in _FALLBACK:
        return None
    return asked[1] if asked[1] in _FALLBACK[kind] else _NEAREST[kind]
