"""The model card of an export: what the Hub reads at its top, how to use it, the card of the model, and the proof."""

import re

from interlingua.checkpoints.model_folder import LoadedModel
from interlingua.interop.proof import Proof

__all__ = ["write_export_card"]

_UNPROVED = "Nobody has compared what this folder translates with what the model does: it was exported with --no-verify."


def write_export_card(
    loaded: LoadedModel,
    card: str,
    *,
    usage: str,
    proof: Proof | None,
    licence: str | None,
    library: str | None = None,
) -> str:
    """Return ``README.md``: ``card`` is that of the model, whose command line gives way to ``usage``.

    ``library`` is what the Hub calls the program that opens the folder.
    """
    body = re.sub(r"(?m)^ {4}interlingua translate .*$\n?", "", card).rstrip("\n")
    if licence:
        body = re.sub(r"(?m)^The licence of these texts decides.*$", f"Licence: {licence}.", body)
    proved = proof.to_markdown() if proof else _UNPROVED + "\n"
    return "\n".join(
        [
            _front_matter(loaded, licence, proof, library),
            body,
            "",
            "## Use",
            "",
            usage.rstrip("\n"),
            "",
            "## Proof of the export",
            "",
            proved,
        ]
    )


def _front_matter(
    loaded: LoadedModel, licence: str | None, proof: Proof | None, library: str | None
) -> str:
    """Write the fields by which the Hub finds a model."""
    opened_by = f"library_name: {_quoted(library)}\n" if library else ""
    languages = "".join(f"- {_quoted(code)}\n" for code in (loaded.source_lang, loaded.target_lang))
    return (
        f"---\nlanguage:\n{languages}{_licence(licence)}{opened_by}"
        "pipeline_tag: translation\ntags:\n- translation\n- interlingua\n"
        f"metrics:\n- sacrebleu\n{_model_index(loaded, proof)}---\n"
    )


def _licence(licence: str | None) -> str:
    """Name a licence as the Hub does: by an identifier in lower case; any other is ``other``, with its name beside it."""
    name = licence or "unknown"
    if re.fullmatch(r"[a-z0-9][a-z0-9.+-]*", name):
        return f"license: {_quoted(name)}\n"
    slug = re.sub(r"[^a-z0-9.]+", "-", name.lower()).strip("-") or "unnamed"
    return f"license: other\nlicense_name: {_quoted(slug)}\n"


def _model_index(loaded: LoadedModel, proof: Proof | None) -> str:
    """Write the figures of the proof in the form that the Hub shows beside a model."""
    if proof is None or not proof.signature:
        return ""
    name = f"{loaded.source_lang}-{loaded.target_lang}"
    metrics = "".join(
        f"    - type: bleu\n      value: {each.bleu_there:.2f}\n      name: "
        + _quoted(f"BLEU, beam {each.beam_size}, {proof.signature}")
        + "\n"
        for each in proof.comparisons
    )
    return (
        f"model-index:\n- name: {_quoted(name)}\n  results:\n  - task:\n      type: translation\n"
        f"    dataset:\n      type: validation\n      name: {_quoted(f'{proof.sentences} validation sentences')}\n"
        f"    metrics:\n{metrics}"
    )


def _quoted(text: str) -> str:
    """Write a YAML string that is nothing but that: ``no`` is Norwegian, not false."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return '"' + re.sub(r"[\x00-\x1f\x7f]", " ", escaped) + '"'
