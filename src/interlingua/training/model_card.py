"""The model card: ``README.md`` of a model folder, for whoever finds it later."""

from collections.abc import Mapping, Sequence

from interlingua import __version__
from interlingua.checkpoints.adapter_folder import Adapter
from interlingua.checkpoints.model_card import quality_section, weights_sentence
from interlingua.config import ModelConfig, RunConfig
from interlingua.directions import Direction
from interlingua.training.validation import Validation

__all__ = ["scores_sentence", "write_adapter_card", "write_card"]


def write_card(
    config: RunConfig,
    *,
    directions: Sequence[Direction],
    parameters: int,
    corpus: Sequence[str],
    pairs: int,
    validation: Validation | None,
    made_of: str,
    origin: Mapping[str, str] | None = None,
) -> str:
    """Say what the model does, what it was trained on, and how well it did on validation data."""
    model = config.model
    files = "\n".join(f"- {name}" for name in corpus)
    return f"""{_heading(model, directions, tagged=bool(config.corpus.directions))}
## Model

{_describe(model)}, {parameters:,} parameters, {config.tokenization.kind} tokens.
{weights_sentence(made_of)}
{_origin(origin)}
## Data

{pairs:,} sentence pairs{" for fine-tuning" if origin and "part" not in origin else ""} from

{files}

The licence of these texts decides what the model may be used for; Interlingua does not know it.

{quality_section(scores_sentence(validation) if validation else "not validated yet")}"""


def scores_sentence(validation: Validation) -> str:
    """Say how well a model did on validation data."""
    return (
        f"validation loss {validation.loss:.3f} nats a token, {validation.in_words()}, "
        f"exact {validation.exact:.1f} % (greedy search, {validation.sentences:,} sentences, normalised as the tokenizer does)"
    )


def write_adapter_card(adapter: Adapter, *, corpus: Sequence[str], pairs: int, made_of: str) -> str:
    """Say what an adapter is for, and how to use it."""
    files = "\n".join(f"- {name}" for name in corpus)
    size = sum(tensor.numel() for tensor in adapter.tensors.values())
    return f"""# Adapter, {adapter.source_lang} to {adapter.target_lang}

Differences of rank {adapter.rank} (alpha {adapter.alpha:g}) for {len(adapter.names)} matrices of one model, {size:,} parameters.
{weights_sentence(made_of)}
The model is the one whose `model.safetensors` has the SHA-256 {adapter.base_sha256}.

    interlingua translate MODEL --adapter FOLDER "text in {adapter.source_lang}"
    interlingua merge MODEL FOLDER --output NEW

## Data

{pairs:,} sentence pairs from

{files}
"""


def _heading(model: ModelConfig, directions: Sequence[Direction], *, tagged: bool) -> str:
    """Say what is translated into what, and how to ask for it."""
    source_lang, target_lang = directions[0].source, directions[0].target
    if not tagged:
        title, does = (
            f"{source_lang} to {target_lang}",
            f"Translates {source_lang} into {target_lang}.",
        )
        if model.kind == "decoder":
            title, does = f"Language model, {target_lang}", "Writes on where a text stops."
        if model.kind == "encoder":
            what = (
                "a class for each text"
                if model.answers == "sequence"
                else "a word for each token that is asked for, or a tag for each word"
            )
            title, does = f"Encoder, {source_lang}", f"Reads {source_lang} and answers with {what}."
        return f"""# {title}

{does} Made by Interlingua {__version__}.

    interlingua translate FOLDER "text in {source_lang}"
"""
    codes = dict.fromkeys(code for each in directions for code in (each.source, each.target))
    tags = ", ".join(f"`{tag}`" for tag in dict.fromkeys(each.tag for each in directions))
    listed = "\n".join(f"- {each.source} to {each.target}" for each in directions)
    return f"""# {", ".join(codes)}

Translates between several languages. Made by Interlingua {__version__}. It was trained on

{listed}

    interlingua translate FOLDER --to {directions[0].target} "text in {directions[0].source}"

Before every source stands the tag of the language to translate into ({tags}); Interlingua adds it. Any other way from one of
its sources to one of its targets is zero-shot: the model was never shown it.
"""


def _describe(model: ModelConfig) -> str:
    """Name the kind and the sizes."""
    layers = f"{model.encoder_layers} + {model.decoder_layers} layers, width {model.d_model}"
    match model.kind:
        case "transformer":
            return (
                f"Transformer (Vaswani et al. 2017), {layers},\n"
                f"feed-forward {model.d_ff}, {model.heads} heads"
            )
        case "convolutional":
            return f"Convolutional (Gehring et al. 2017), {layers}, kernels of {model.kernel_width}"
        case "encoder":
            return (
                f"The encoder of a Transformer alone (Devlin et al. 2019), {model.encoder_layers} layers, "
                f"width {model.d_model},\nfeed-forward {model.d_ff}, {model.heads} heads"
            )
        case "decoder":
            return (
                f"The decoder of a Transformer alone (Radford et al. 2018), {model.decoder_layers} layers, "
                f"width {model.d_model},\nfeed-forward {model.d_ff}, {model.heads} heads"
            )
        case recurrent:
            reads = "a bidirectional" if model.bidirectional else "a unidirectional"
            return f"{recurrent.upper()}, {reads} encoder, attention: {model.attention}, {layers}"


def _origin(origin: Mapping[str, str] | None) -> str:
    if not origin:
        return ""
    if "part" in origin:
        return f"Its encoder began as that of {origin['model']} (SHA-256 of its weights {origin['sha256']}), whose data and licence count too.\n"
    return f"Fine-tuned from {origin['model']} (SHA-256 of its weights {origin['sha256']}), whose data and licence count too.\n"
