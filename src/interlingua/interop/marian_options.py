"""The options that Marian stores in a model, as far as they shape it: the paper's Transformer, or a reason why not."""

from collections.abc import Mapping
from dataclasses import dataclass

from interlingua.checkpoints.untrusted import integer
from interlingua.errors import ModelError
from interlingua.interop.marian_yaml import Setting, read_settings
from interlingua.model.architecture import Activation, Norm

__all__ = ["MarianOptions", "read_options"]

_MUST_BE: dict[str, tuple[tuple[str, ...], str]] = {
    "transformer-decoder-autoreg": (
        ("self-attention",),
        "its decoder looks back in another way than by self-attention",
    ),
    "transformer-postprocess-emb": (("d", ""), "embeddings are normalised"),
    "transformer-ffn-depth": (("2",), "feed-forward layers are of another depth"),
    "transformer-decoder-ffn-depth": (("0", "2"), "feed-forward layers are of another depth"),
    "transformer-no-projection": (("false",), "attention has no output projection"),
    "transformer-train-positions": (("false",), "positions are learned"),
    "transformer-train-position-embeddings": (("false",), "positions are learned"),
    "transformer-pool": (("false",), "self-attention is replaced by pooling"),
    "right-left": (("false",), "it writes from right to left"),
    "lemma-dim-emb": (("0",), "its vocabulary is factored"),
    "factors-dim-emb": (("0",), "its vocabulary is factored"),
    "ulr": (("false",), "it uses universal lexical representations"),
}
_NORMS: dict[tuple[str, str, str], Norm] = {("", "dan", ""): "post", ("n", "da", "n"): "pre"}
_ACTIVATIONS: dict[str, Activation] = {"relu": "relu", "swish": "swish"}
_NO = {"no": "false", "off": "false"}


@dataclass(frozen=True, slots=True)
class MarianOptions:
    """Sizes and choices, within bounds."""

    layers: tuple[int, int]
    d_model: int
    d_ff: int
    heads: int
    activation: Activation
    norm: Norm


def read_options(text: str, where: str) -> MarianOptions:
    """Read ``special:model.yml``.

    Raises:
        ModelError: it is not of this form, or describes something else than the paper's Transformer, and what.
    """
    found = read_settings(text, where)
    kind = found.get("type")
    if kind != "transformer":
        raise ModelError(
            f"{where}: describes a model of type {str(kind)[:40]!r}; models of type transformer are read"
        )
    for name, (allowed, reason) in _MUST_BE.items():
        value = found.get(name, allowed[0])
        plain = str(value).lower()
        if _NO.get(plain, plain) not in allowed:
            raise ModelError(f"{where}: {name} is {str(value)[:40]}: {reason}, which is not read")
    _refuse_lists(found, where)
    return MarianOptions(
        layers=(_number(found, "enc-depth", where, 1000), _number(found, "dec-depth", where, 1000)),
        d_model=_width(found, where),
        d_ff=_inner_width(found, where),
        heads=_number(found, "transformer-heads", where, 1024),
        activation=_activation(found, where),
        norm=_norm(found, where),
    )


def _refuse_lists(found: Mapping[str, Setting], where: str) -> None:
    if found.get("transformer-tied-layers", []) not in ([], ""):
        raise ModelError(f"{where}: its layers are tied to each other, which is not read")
    kinds = found.get("input-types", [])
    if kinds not in ([], "", ["sequence", "sequence"]):
        raise ModelError(f"{where}: takes {str(kinds)[:60]} and not one source, which is not read")
    if len(found.get("dim-vocabs", ["", ""])) != 2:
        raise ModelError(f"{where}: has not two vocabularies (dim-vocabs); one source is read")


def _norm(found: Mapping[str, Setting], where: str) -> Norm:
    names = ("preprocess", "postprocess", "postprocess-top")
    given = tuple(str(found.get(f"transformer-{name}", "")) for name in names)
    norm = _NORMS.get((given[0], given[1], given[2]))
    if norm is None:
        shown = ", ".join(f"transformer-{n} {g[:20]!r}" for n, g in zip(names, given, strict=True))
        raise ModelError(
            f"{where}: {shown}: read are '', 'dan', '' (the paper's) and 'n', 'da', 'n' (norms before)"
        )
    return norm


def _activation(found: Mapping[str, Setting], where: str) -> Activation:
    name = str(found.get("transformer-ffn-activation", "swish"))
    if name not in _ACTIVATIONS:
        why = "; Marian's gelu is x sigmoid(1.702 x), another function" if name == "gelu" else ""
        raise ModelError(
            f"{where}: transformer-ffn-activation is {name[:40]}; relu and swish are read{why}"
        )
    return _ACTIVATIONS[name]


def _width(found: Mapping[str, Setting], where: str) -> int:
    d_model, heads = _number(found, "dim-emb", where, 65_536), found.get("transformer-heads")
    if d_model % 2 or d_model % _number(found, "transformer-heads", where, 1024):
        raise ModelError(f"{where}: dim-emb {d_model} does not go with {heads} heads")
    return d_model


def _inner_width(found: Mapping[str, Setting], where: str) -> int:
    d_ff = _number(found, "transformer-dim-ffn", where, 1_000_000)
    other = found.get("transformer-decoder-dim-ffn", "0")
    if other not in ("0", "", str(d_ff)):
        raise ModelError(
            f"{where}: transformer-dim-ffn is {d_ff} in the encoder and {str(other)[:20]} in the decoder; "
            "one number for both is read here"
        )
    return d_ff


def _number(found: Mapping[str, Setting], name: str, where: str, largest: int) -> int:
    text = found.get(name)
    value = int(text) if isinstance(text, str) and text.isdecimal() and len(text) < 10 else text
    return integer({name: value}, name, where, 1, largest)
