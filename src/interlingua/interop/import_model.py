"""A model of another program as a model folder of ours."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from interlingua import __version__
from interlingua.checkpoints.model_folder import save_model_folder
from interlingua.errors import ConfigError, ModelError
from interlingua.interop.ctranslate2_import import read_ctranslate2
from interlingua.interop.export import refuse_what_is_there
from interlingua.interop.foreign_model import ForeignModel, apart, language_or_none
from interlingua.interop.marian_import import read_marian
from interlingua.interop.marian_npz_import import find_npz, read_marian_npz

__all__ = ["ImportedModel", "import_model"]


@dataclass(frozen=True, slots=True)
class ImportedModel:
    """What an import came to."""

    folder: Path
    program: str
    source_lang: str
    target_lang: str
    parameters: int
    remarks: tuple[str, ...]


def import_model(
    path: Path,
    output: Path,
    *,
    source_lang: str | None = None,
    target_lang: str | None = None,
    target_tag: str | None = None,
    say: Callable[[str], None] = lambda _: None,
) -> ImportedModel:
    """Write what ``path`` holds as a model folder, whole or not at all.

    Args:
        path: a folder of MarianMT (Hugging Face), of Marian itself, or of CTranslate2.
        output: folder that is not there yet, or is empty.
        source_lang: code of the source language, where the files do not tell.
        target_lang: the same of the target.
        target_tag: of a model that translates into several languages, the one to use where a text does not say.
        say: told what is going on.

    Raises:
        ConfigError: an output that is in the way, or a language that nobody tells.
        ModelError: nothing that is known here, damaged, or not the paper's architecture.
        OutputError: the place cannot be written.
        TokenizerError: a SentencePiece model that cannot be read.
    """
    refuse_what_is_there(output)
    found = _read(path, target_tag)
    source, target = source_lang or found.source_lang, target_lang or found.target_lang
    if source is None or target is None:
        flag = "--source-lang" if source is None else "--target-lang"
        raise ConfigError(f"{path}: does not say its languages; give {flag} CODE")
    for flag, code in (("--source-lang", source), ("--target-lang", target)):
        if language_or_none(code) is None:
            raise ConfigError(f"{flag} {code!r}: is no code of a language; give one such as en")
    loaded = found.to_loaded(path, source, target)
    for remark in found.remarks:
        say(f"{path}: {remark}")
    save_model_folder(output, loaded, apart(found.weights), _card(found, path, source, target))
    parameters = sum(tensor.numel() for tensor in found.weights.values())
    return ImportedModel(output, found.program, source, target, parameters, found.remarks)


def _read(path: Path, target_tag: str | None) -> ForeignModel:
    """Recognise a folder by the names in it."""
    if not path.is_dir():
        what = "is a file" if path.exists() else "does not exist"
        raise ModelError(f"{path}: {what}; give the folder of a model")
    if (path / "manifest.json").exists():
        raise ModelError(f"{path}: is a model folder of Interlingua already; use it as it is")
    if (path / "model.bin").exists():
        return read_ctranslate2(path, target_tag)
    if (path / "source.spm").exists() and (path / "config.json").exists():
        return read_marian(path, target_tag)
    if (weights := find_npz(path)) is not None:
        return read_marian_npz(path, weights, target_tag)
    raise ModelError(
        f"{path}: is no model that is known here; a MarianMT folder has config.json, source.spm, target.spm, "
        "vocab.json and model.safetensors, one of Marian model.npz, one of CTranslate2 model.bin"
    )


def _card(found: ForeignModel, path: Path, source: str, target: str) -> str:
    a = found.architecture
    parameters = sum(tensor.numel() for tensor in found.weights.values())
    remarks = "".join(f"Note: {each}.\n" for each in found.remarks)
    theirs = f"\n## What came with it\n\n{found.card.strip()}\n" if found.card.strip() else ""
    return f"""# {source} to {target}

Translates {source} into {target}. Imported from {found.program}, folder {path.name}, by Interlingua {__version__}.

    interlingua translate FOLDER "text in {source}"

## Model

Transformer (Vaswani et al. 2017), {a.encoder_layers} + {a.decoder_layers} layers, width {a.d_model}, feed-forward {a.d_ff},
{a.heads} heads, {a.activation}, {parameters:,} parameters.
The weights are those of the folder it was imported from.
{remarks}
## Data

Interlingua did not train it. The licence that came with it decides what the model may be used for.

## Quality

Not measured here: interlingua evaluate FOLDER --source FILE --reference FILE.
{theirs}"""
