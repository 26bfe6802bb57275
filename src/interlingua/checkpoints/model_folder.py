"""The model folder: all that is needed to translate, and nothing else.

``config.json`` (sizes, languages), ``model.safetensors``, ``tokenizer.json`` (or ``source_tokenizer.json`` and
``target_tokenizer.json``), ``generation_config.json``, ``README.md`` (the model card), ``manifest.json``; and
``validation.jsonl``, sentences that it was not trained on, for whoever must prove that a copy in another format
translates like it (folders of earlier versions have none).
"""

import json
import re
import shutil
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch
from pydantic import ValidationError
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

from interlingua.checkpoints.manifest import check_manifest, read_back, write_manifest
from interlingua.checkpoints.sentences import SENTENCES, read_directed_sentences, write_sentences
from interlingua.checkpoints.untrusted import check_table_size, read_json, refuse_special_file
from interlingua.checkpoints.weights import load_weights, write_tensors
from interlingua.config import DecodingConfig
from interlingua.corpus.pairs import SentencePair
from interlingua.directions import DIRECTION, Direction, choose_direction, in_words
from interlingua.errors import ConfigError, InterlinguaError, ModelError
from interlingua.files import replace_folder
from interlingua.model.architecture import (
    AnyArchitecture,
    Architecture,
    RecurrentArchitecture,
    architecture_from,
)
from interlingua.model.building import build_encoder_decoder
from interlingua.model.encoder_decoder import EncoderDecoder
from interlingua.tokenization.pair import SHARED_NAME, SOURCE_NAME, TARGET_NAME, TokenizerPair
from interlingua.tokenization.tagged import tag_sources

__all__ = [
    "BuildModel",
    "LoadedModel",
    "add_to_model_folder",
    "build",
    "check_model_folder",
    "check_parts",
    "find_model_folder",
    "keep_decoding",
    "load_model_folder",
    "parts_of",
    "read_directions",
    "save_model_folder",
]

_MOST_DIRECTIONS = 10_000

BuildModel = Callable[..., EncoderDecoder]
"""``build_encoder_decoder``, or anything that is called like it: ``Transformer`` with other parts, for instance."""


@dataclass(frozen=True, slots=True)
class LoadedModel:
    """What a model folder holds, in memory: the model on the CPU, in evaluation mode."""

    model: EncoderDecoder
    tokenizers: TokenizerPair
    source_lang: str
    target_lang: str
    decoding: DecodingConfig
    max_length: int
    sentences: tuple[SentencePair, ...] = ()
    """Some that it was not trained on, with their translations; none if the folder has none."""
    directions: tuple[Direction, ...] = ()
    """The pairs of languages that it knows, if it needs to be told which; the first is ``source_lang`` to ``target_lang``."""
    sentence_directions: tuple[Direction, ...] = ()
    """Of such a model, the direction of each of the sentences."""
    fills_gaps: bool = False
    """It was taught to fill gaps in text, and not to translate."""
    imported: bool = False
    """It began as the model of another program, so that nobody here knows how it was trained."""

    def towards(self, direction: Direction) -> "LoadedModel":
        """Return the same model for one pair of languages: the tag of its target stands before every source.

        Raises:
            TokenizerError: the model is of one pair of languages only, and has no such tag.
        """
        own = zip(self.sentences, self.sentence_directions, strict=True)
        return replace(
            self,
            tokenizers=tag_sources(self.tokenizers, direction.tag),
            source_lang=direction.source,
            target_lang=direction.target,
            sentences=tuple(pair for pair, each in own if each == direction),
            sentence_directions=(),
        )

    @property
    def known(self) -> tuple[Direction, ...]:
        """The pairs of languages that it was trained on, one or several."""
        return self.directions or (Direction(self.source_lang, self.target_lang),)

    def chosen(self, path: Path, to: str | None = None) -> "LoadedModel":
        """Return the model for the pair of languages that is meant.

        Args:
            path: what to call it.
            to: language to translate into, ``ro``, or both, ``en-ro``; None where there is nothing to choose.

        Raises:
            ConfigError: the model does not know the languages, or several and none is told.
        """
        found = _choose(path, self.known, to)
        if self.directions:
            return self.towards(found)
        if found not in self.known:
            raise ConfigError(
                f"{path}: translates {in_words(self.known)} only, not {to}; give another model"
            )
        return self


def build(
    architecture: AnyArchitecture,
    tokenizers: TokenizerPair,
    build_model: BuildModel = build_encoder_decoder,
) -> EncoderDecoder:
    """Make the model that fits these vocabularies, with fresh weights."""
    return build_model(
        architecture,
        source_vocabulary=tokenizers.source.vocabulary_size,
        target_vocabulary=tokenizers.target.vocabulary_size,
        source_pad=tokenizers.source.pad_id,
        target_pad=tokenizers.target.pad_id,
    )


def save_model_folder(
    folder: Path,
    loaded: LoadedModel,
    weights: Mapping[str, Tensor],
    card: str,
    kept: Collection[str] = (),
) -> None:
    """Write ``folder`` whole or not at all; what was there is removed only after the new one was read back.

    Args:
        folder: where.
        loaded: the model, and what is kept with it.
        weights: perhaps an average instead of the model's own; none need be given if they are kept.
        card: what its ``README.md`` says.
        kept: files of the folder that is there; they stay as they are, whatever else would be written.

    Raises:
        OutputError: the place cannot be written, or does not hold what was written to it.
    """
    config = {
        "architecture": loaded.model.architecture.to_dict(),
        "source_lang": loaded.source_lang,
        "target_lang": loaded.target_lang,
        "max_length": loaded.max_length,
        "parts": parts_of(loaded.model),
    }
    if loaded.directions:
        config["directions"] = [[each.source, each.target] for each in loaded.directions]
    config |= {name: True for name in ("fills_gaps", "imported") if getattr(loaded, name)}
    with replace_folder(folder, check=read_back) as new:
        (new / "config.json").write_text(_json(config), encoding="utf-8")
        write_tensors(new / "model.safetensors", weights)
        loaded.tokenizers.save(new)
        generation = loaded.decoding.model_dump(mode="json")
        (new / "generation_config.json").write_text(_json(generation), encoding="utf-8")
        if loaded.sentences:
            write_sentences(new / SENTENCES, loaded.sentences, loaded.sentence_directions)
        (new / "README.md").write_text(card, encoding="utf-8")
        for name in kept:
            shutil.copyfile(folder / name, new / name)
        write_manifest(new)


def find_model_folder(path: Path) -> Path:
    """Return ``path`` itself, or the ``model`` folder of the run that it names.

    Raises:
        ModelError: there is no such folder.
    """
    path = Path(path)
    if (path / "model").is_dir():
        return path / "model"
    if not path.is_dir():
        what = "is a file, not a folder" if path.exists() else "does not exist"
        raise ModelError(f"{path}: {what}; give a run folder or a model folder")
    if (path / "config.toml").is_file() and not (path / "config.json").exists():
        raise ModelError(
            f"{path}: this run has no model yet; it gets one at its first validation, or when it stops"
        )
    return path


def load_model_folder(path: Path, build_model: BuildModel | None = None) -> LoadedModel:
    """Read a model folder, or the one inside a run folder, after checking that it is whole.

    Raises:
        ModelError: missing, truncated, changed, of another version, or inconsistent.
        TokenizerError: a tokenizer that cannot be read.
    """
    folder = find_model_folder(path)
    check_manifest(folder, needed=_files_read(folder))
    config = _read_json(folder / "config.json")
    architecture = _architecture(folder / "config.json", config)
    tokenizers = TokenizerPair.load(folder)
    try:
        decoding = DecodingConfig(**_read_json(folder / "generation_config.json"))
        if build_model is None:
            with _NothingDrawn():
                _refuse_what_is_not_there(folder, architecture, tokenizers)
                model = build(architecture, tokenizers)
        else:
            model = build(architecture, tokenizers, build_model)
        source_lang, target_lang = str(config["source_lang"]), str(config["target_lang"])
        max_length = _max_length(config["max_length"], architecture)
        directions = _directions(config.get("directions"), tokenizers)
    except (ValidationError, ValueError, KeyError, TypeError) as error:
        raise _not_described(folder, error) from error
    check_parts(folder / "config.json", config.get("parts"), model)
    load_weights(model, folder / "model.safetensors")
    model.eval().requires_grad_(False)
    sentences = read_directed_sentences(folder / SENTENCES)
    if directions:  # a sentence without its direction is of no use to anybody
        sentences = [each for each in sentences if each[1] in directions]
    return LoadedModel(
        model,
        tokenizers,
        source_lang,
        target_lang,
        decoding,
        max_length,
        tuple(pair for pair, _ in sentences),
        directions,
        tuple(each for _, each in sentences if each is not None) if directions else (),
        fills_gaps=config.get("fills_gaps") is True,
        imported=config.get("imported") is True,
    )


def check_model_folder(path: Path, to: str | None = None) -> None:
    """Refuse what opening a model would refuse, as far as that can be found without its weights in memory.

    For whoever opens several one after the other: hours of translating must not end at the last one.

    Args:
        path: run folder or model folder.
        to: language to translate into, see :meth:`LoadedModel.chosen`.

    Raises:
        ModelError: there is no model yet, or it is truncated, changed, or of another version.
        TokenizerError: a tokenizer that cannot be read.
        ConfigError: the model does not know the languages, or several and none is told.
    """
    folder = find_model_folder(path)
    check_manifest(folder, needed=_files_read(folder))
    config = _read_json(folder / "config.json")
    _architecture(folder / "config.json", config)
    try:
        own = Direction(str(config["source_lang"]), str(config["target_lang"]))
        several = _directions(config.get("directions"), TokenizerPair.load(folder))
    except (ValueError, KeyError) as error:
        raise _not_described(folder, error) from error
    _choose(path, several or (own,), to)


def _choose(path: Path, known: Sequence[Direction], to: str | None) -> Direction:
    """Return the direction that is meant of those that the model at ``path`` knows."""
    try:
        return choose_direction(known, to)
    except ConfigError as error:
        raise ConfigError(f"{path}: {error}") from None


def _not_described(folder: Path, error: Exception) -> ModelError:
    return ModelError(f"{folder}: its configuration does not describe a model ({_one_line(error)})")


class _NothingDrawn(TorchFunctionMode):
    """Leave weights as memory happens to be: all of them are about to be read from a file.

    To draw the 60 million of the base model takes longer than to read them. Not for models with parts of somebody's own, which may
    draw what no file holds.
    """

    def __torch_function__(
        self, func: Any, types: object, args: Any = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        """Do what torch was called for, unless it is to draw numbers into a tensor."""
        if func in _DRAWS:
            return args[0] if args else (kwargs or {})["tensor"]
        return func(*args, **(kwargs or {}))


_DRAWS = (
    *(nn.init.normal_, nn.init.uniform_, nn.init.xavier_uniform_, nn.init.kaiming_uniform_),
    *(Tensor.normal_, Tensor.uniform_),
)


def read_directions(path: Path) -> tuple[Direction, ...]:
    """Return the pairs of languages of a model of several, without opening it; none of any other model.

    Of one that is damaged there are none either: what is wrong with it is told by whoever opens it.

    Raises:
        ModelError: there is no such folder.
    """
    folder = find_model_folder(path)
    try:
        told = _read_json(folder / "config.json").get("directions")
        return () if told is None else _directions(told, TokenizerPair.load(folder))
    except (InterlinguaError, OSError, ValueError):
        return ()


def _refuse_what_is_not_there(
    folder: Path, architecture: AnyArchitecture, tokenizers: TokenizerPair
) -> None:
    """Raise a ModelError before memory is taken for a model that is far larger than the file of its weights."""
    if not isinstance(architecture, RecurrentArchitecture):  # which has no table
        check_table_size(folder / "config.json", architecture.max_positions, architecture.d_model)
    if isinstance(architecture, Architecture) and architecture.positions == "sinusoidal":
        # Sines of no numbers cost two seconds: torch imports its compiler for them.
        architecture = replace(architecture, positions="learned", max_positions=1)
    with torch.device("meta"):
        wanted = 4 * sum(p.numel() for p in build(architecture, tokenizers).parameters())
    path = folder / "model.safetensors"
    if wanted > 4 * refuse_special_file(path) + (64 << 20):
        raise ModelError(
            f"{path}: has {path.stat().st_size:,} bytes, and config.json describes {wanted:,}; "
            "the two files do not belong together"
        )


def _files_read(folder: Path) -> tuple[str, ...]:
    """Name what loading reads, the card aside: none of it may escape the manifest."""
    shared = (folder / SHARED_NAME).exists()
    tokenizers = (SHARED_NAME,) if shared else (SOURCE_NAME, TARGET_NAME)
    sentences = (SENTENCES,) if (folder / SENTENCES).exists() else ()
    return (
        *("config.json", "model.safetensors", "generation_config.json"),
        *tokenizers,
        *sentences,
    )


def _max_length(value: object, architecture: AnyArchitecture) -> int:
    """Check how many tokens a side may have: one and the end symbol at least, and no more than have a position."""
    largest = architecture.max_positions
    if not isinstance(value, int) or isinstance(value, bool) or not 2 <= value <= largest:
        raise ValueError(f"max_length is {value!r}; it takes 2 to {largest}, its max_positions")
    return value


def _directions(told: object, tokenizers: TokenizerPair) -> tuple[Direction, ...]:
    """Check the pairs of languages of a model of several: two codes each, and a tag in the vocabulary."""
    if told is None:
        return ()
    if not isinstance(told, list) or not told or len(told) > _MOST_DIRECTIONS:
        raise ValueError("directions is no list of pairs of languages")
    pieces = set(tokenizers.source.all_tokens())
    found = []
    for each in told:
        if not (isinstance(each, list) and len(each) == 2):
            raise ValueError(f"directions holds {each!r:.60}; each is a list of two languages")
        direction = Direction(str(each[0]), str(each[1]))
        if not re.fullmatch(DIRECTION, f"{direction.source}:{direction.target}"):
            raise ValueError(f"directions holds {each!r:.60}, which are no codes of languages")
        if direction.tag not in pieces:
            raise ValueError(f"the tag {direction.tag} is not in the vocabulary")
        found.append(direction)
    return tuple(dict.fromkeys(found))


def parts_of(model: EncoderDecoder) -> list[str]:
    """Return the names of the classes that the model is made of, without torch's own."""
    kinds = {type(module) for module in model.modules()}
    return sorted(kind.__qualname__ for kind in kinds if not kind.__module__.startswith("torch."))


def check_parts(path: Path, parts: object, model: EncoderDecoder) -> None:
    """Refuse to put weights into other parts than those that learnt them, as ``path`` lists them.

    Raises:
        ModelError: the parts are others.
    """
    here = parts_of(model)
    if parts == here:
        return
    if not isinstance(parts, list) or not all(isinstance(part, str) for part in parts):
        raise ModelError(f"{path}: does not list the parts of the model")
    theirs = ", ".join(sorted(set(parts) - set(here))) or "only the usual parts"
    raise ModelError(
        f"{path.parent}: was trained with {theirs}, which this model is not made of; open it from Python with the "
        "build_model that trained it: Translator.load(folder, build_model=...), or train(config, build_model=...)"
    )


def _architecture(path: Path, config: dict[str, Any]) -> AnyArchitecture:
    sizes = config.get("architecture")
    if not isinstance(sizes, dict):
        raise ModelError(f"{path}: 'architecture' is missing")
    for name, value in sizes.items():
        largest = 1000 if name in {"encoder_layers", "decoder_layers"} else 1_000_000
        if isinstance(value, int) and not 0 <= value <= largest:
            raise ModelError(f"{path}: {name} is {value}, which no model has")
    try:
        return architecture_from(sizes)
    except (TypeError, ValueError) as error:
        raise ModelError(f"{path}: {error}") from error


def _read_json(path: Path) -> dict[str, Any]:
    content = read_json(path, 1 << 20)
    if not isinstance(content, dict):
        raise ModelError(f"{path}: is not a JSON object; copy the folder again")
    return content


def _one_line(error: Exception) -> str:
    if isinstance(error, ValidationError):
        first = error.errors()[0]
        return f"{'.'.join(map(str, first['loc']))}: {first['msg']}"[:200]
    return " ".join(str(error).split())[:200]


def _json(content: Mapping[str, Any]) -> str:
    return json.dumps(content, indent=2, ensure_ascii=False) + "\n"


def keep_decoding(folder: Path, decoding: DecodingConfig, *, fitted: Collection[str]) -> None:
    """Have a model folder search as ``decoding`` says, unless it does already.

    Args:
        folder: of the model.
        decoding: how it is searched.
        fitted: files that hold for the search of before, and go.

    Raises:
        ModelError: the folder is missing or damaged.
        OutputError: it cannot be written.
    """
    told = decoding.model_dump(mode="json")
    if _read_json(folder / "generation_config.json") != told:
        add_to_model_folder(folder, "generation_config.json", _json(told), without=fitted)


def add_to_model_folder(path: Path, name: str, text: str, *, without: Collection[str] = ()) -> Path:
    """Put one more file beside the model, and into its manifest: the folder is replaced whole or not at all.

    Args:
        path: run folder or model folder.
        name: the file; one of this name is replaced.
        text: what it holds.
        without: files that go.

    Returns:
        The model folder.

    Raises:
        ModelError: the folder is missing or damaged.
        OutputError: it cannot be written.
    """
    folder = find_model_folder(path)
    check_manifest(folder, needed=_files_read(folder))
    with replace_folder(folder, check=read_back) as new:
        for file in folder.iterdir():
            if file.is_file() and file.name not in without:
                shutil.copyfile(file, new / file.name)
        (new / name).write_text(text, encoding="utf-8")
        write_manifest(new)
    return folder
