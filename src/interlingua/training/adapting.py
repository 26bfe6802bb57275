"""Which parameters a run trains: all, all but some that are frozen by name, or an adapter of low rank."""

from collections.abc import Iterable, Mapping, Sequence
from difflib import get_close_matches
from fnmatch import fnmatchcase

from torch import Tensor, nn

from interlingua.config import StartConfig
from interlingua.errors import ConfigError
from interlingua.model.encoder_decoder import EncoderDecoder
from interlingua.model.low_rank import FROZEN, LORA_A, LORA_B, LowRankLinear, add_low_rank

__all__ = ["adapter_tensors", "freeze", "merged_weights", "put_adapters", "restrict"]

LORA_ON = ("*attention.*", "*feed_forward.*")
"""Every matrix of every layer: for one number of parameters better than fewer matrices with a higher rank."""


def restrict(model: EncoderDecoder, start: StartConfig) -> None:
    """Leave open to training only what ``start`` says.

    Raises:
        ConfigError: a pattern that matches nothing, nothing left to train, a rank that is none, or an adapter for a model that
            is no Transformer.
    """
    if start.lora_rank is not None and model.architecture.kind != "transformer":
        raise ConfigError(
            f"start.lora_rank = {start.lora_rank}: an adapter is for the matrices of a Transformer, and the model is of "
            f"the kind {model.architecture.kind}; leave it out, which trains all weights"
        )
    if start.lora_rank is not None:
        alpha = start.lora_alpha or 2.0 * start.lora_rank
        put_adapters(model, start.lora_on or LORA_ON, start.lora_rank, alpha)
    elif start.freeze:
        freeze(model, start.freeze)


def freeze(model: nn.Module, patterns: Sequence[str]) -> None:
    """Exclude from training the parameters whose name matches one of ``patterns``.

    A parameter that has several names, as tied embeddings have, is frozen by any of them.

    Raises:
        ConfigError: a pattern matches no name, or nothing is left to train.
    """
    named = list(model.named_parameters(remove_duplicate=False))
    names = [name for name, _ in named]
    for pattern in patterns:
        _match(pattern, names, "start.freeze")
    for name, parameter in named:
        if any(fnmatchcase(name, pattern) for pattern in patterns):
            parameter.requires_grad_(False)
    if not any(parameter.requires_grad for _, parameter in named):
        raise ConfigError(
            f"start.freeze = {', '.join(patterns)}: freezes every parameter, so nothing can be learnt; "
            "leave some out"
        )


def put_adapters(model: EncoderDecoder, patterns: Sequence[str], rank: int, alpha: float) -> None:
    """Freeze the whole model, and put an adapter on each matrix of a layer whose name matches.

    Raises:
        ConfigError: a pattern matches no such matrix, or ``rank`` is more than a matrix can have.
    """
    linear = {
        f"{name}.weight": module
        for name, module in model.named_modules()
        if type(module) is nn.Linear and module is not model.output
    }
    chosen: dict[str, nn.Linear] = {}
    for pattern in patterns:
        chosen |= {name: linear[name] for name in _match(pattern, linear, "start.lora_on")}
    for name, module in chosen.items():
        most = min(module.in_features, module.out_features)
        if rank > most:
            raise ConfigError(
                f"start.lora_rank = {rank}: {name} is {module.out_features} x {module.in_features} and has a rank of "
                f"{most} at most; lower it, to 8 for instance"
            )
    model.requires_grad_(False)
    for name, module in chosen.items():
        path, _, own = name.removesuffix(".weight").rpartition(".")
        setattr(model.get_submodule(path), own, LowRankLinear(module, rank, alpha))


def adapter_tensors(weights: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Return what an adapter consists of, out of all the weights of an adapted model."""
    return {name: tensor for name, tensor in weights.items() if name.endswith((LORA_A, LORA_B))}


def merged_weights(weights: Mapping[str, Tensor], scale: float) -> dict[str, Tensor]:
    """Return the weights of the plain model that computes what an adapted one does; ``scale`` is alpha / rank."""
    merged = {}
    for name, tensor in weights.items():
        if name.endswith(FROZEN):
            part = name.removesuffix(FROZEN)
            a, b = weights[part + LORA_A], weights[part + LORA_B]
            merged[f"{part}.weight"] = add_low_rank(tensor, a, b, scale)
        elif not name.endswith((LORA_A, LORA_B)):
            merged[name] = tensor
    return merged


def _match(pattern: str, names: Iterable[str], key: str) -> list[str]:
    names = list(names)
    found = [name for name in names if fnmatchcase(name, pattern)]
    if found:
        return found
    groups = dict.fromkeys(
        f"{name.rsplit('.', dots)[0]}.*" for name in names for dots in range(1, name.count(".") + 1)
    )
    close = [group for group in groups if group == f"{pattern}.*"]
    close += get_close_matches(pattern, [*groups, *names], n=3, cutoff=0.5)
    meant = ", ".join(list(dict.fromkeys(close))[:3]) or ", ".join(list(groups)[:3])
    raise ConfigError(f"{key} = {pattern}: no parameter has such a name; did you mean {meant}?")
