"""The model that a run begins with, when it does not begin with fresh weights.

What a run must know of it (sizes, languages, checksum) is kept in ``start/start.json``, its vocabulary in ``tokenizer/``,
the model itself in ``start/model/``, so that the run can be replayed, and what became of its weights in every checkpoint:
once a run has begun, the model may be changed, moved or lost.
"""

import json
import os
import shutil
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Literal

import torch
from torch import Tensor

from interlingua.checkpoints.manifest import MANIFEST, listed_files, listed_sha256
from interlingua.checkpoints.model_folder import (
    BuildModel,
    LoadedModel,
    find_model_folder,
    load_model_folder,
)
from interlingua.checkpoints.weights import parameters_of
from interlingua.config import CorpusConfig, ModelConfig, RunConfig
from interlingua.config_contradictions import contradictions_in
from interlingua.directions import Direction, in_words
from interlingua.errors import ConfigError, ModelError
from interlingua.files import replace_folder, write_text
from interlingua.model.architecture import AnyArchitecture, architecture_from, fields_of
from interlingua.model.building import build_encoder_decoder
from interlingua.model.encoder_decoder import EncoderDecoder
from interlingua.model.low_rank import FROZEN
from interlingua.tokenization.extension import old_ids_of
from interlingua.tokenization.pair import TokenizerPair
from interlingua.tokenization.piece_tokenizer import PieceTokenizer
from interlingua.tokenization.renumbered import RenumberedTokenizer
from interlingua.tokenization.tokenizer import Tokenizer
from interlingua.training.run_folder import RunFolder

__all__ = [
    "Start",
    "is_same_start",
    "languages_with",
    "open_again",
    "read_start",
    "recall_start",
    "refuse_contradictions",
    "refuse_sampling",
    "take_weights",
    "tokenizers_of",
]

_NAME, _KEPT, _WEIGHTS = "start.json", "model", "model.safetensors"
_DROPOUT = ("dropout", "attention_dropout", "activation_dropout")
_UNKNOWN_LANGUAGES = ("source", "target")


@dataclass(frozen=True, slots=True)
class Start:
    """What a run keeps of the model that it begins with."""

    model: Path
    """Where it was."""
    sha256: str
    """Of its weights."""
    architecture: AnyArchitecture
    source_lang: str
    target_lang: str
    max_length: int
    decoding: dict[str, Any]
    directions: tuple[Direction, ...] = ()
    """The pairs of languages of a model of several."""
    part: Literal["model", "encoder"] = "model"
    """What the run takes of it: all, or the encoder with what it reads."""
    fills_gaps: bool = False
    """It was taught to fill gaps in text, and not to translate."""
    imported: bool = False
    """It began as the model of another program."""
    kept: Path | None = None
    """Where the run has kept the model itself; runs of earlier versions have not."""

    @property
    def known(self) -> tuple[Direction, ...]:
        """The pairs of languages that it knows, one or several."""
        return self.directions or (Direction(self.source_lang, self.target_lang),)

    @property
    def is_unnamed(self) -> bool:
        """Whether its languages are not known: any may be meant."""
        return self.known == (Direction(*_UNKNOWN_LANGUAGES),)

    @property
    def is_whole(self) -> bool:
        """Whether the run begins with the whole model."""
        return self.part == "model"

    @property
    def origin(self) -> dict[str, str]:
        """What the environment of the run says of it."""
        origin = {"model": str(self.model), "sha256": self.sha256}
        return origin if self.is_whole else {"part": self.part, **origin}

    def save(self, folder: RunFolder) -> None:
        """Keep it in the run, with the model: as other names of its files, where the disk can give them, which takes no room."""
        found = find_model_folder(self.model)
        with replace_folder(folder.start / _KEPT) as new:
            for name in (MANIFEST, *listed_files(found)):
                try:
                    os.link(found / name, new / name)
                except OSError:  # another disk, or one that has one name a file
                    shutil.copyfile(found / name, new / name)
        content = asdict(self) | {
            "model": str(self.model),
            "directions": list(map(str, self.directions)),
        }
        del content["kept"]
        write_text(folder.start / _NAME, json.dumps(content, indent=2) + "\n")

    def architecture_for(self, model: ModelConfig) -> AnyArchitecture:
        """Return its sizes with the dropout of the run."""
        known = fields_of(self.architecture.kind)
        chosen = {name: getattr(model, name) for name in _DROPOUT if name in known}
        return replace(
            self.architecture, **{name: p for name, p in chosen.items() if p is not None}
        )


def read_start(
    path: Path, build_model: BuildModel = build_encoder_decoder
) -> tuple[Start, LoadedModel]:
    """Return what a run must know of the model at ``path``, and the model.

    Raises:
        ModelError: it is missing or damaged.
    """
    folder = find_model_folder(path)
    loaded = load_model_folder(folder, build_model)
    start = Start(
        model=path,
        sha256=listed_sha256(folder, _WEIGHTS),
        architecture=loaded.model.architecture,
        source_lang=loaded.source_lang,
        target_lang=loaded.target_lang,
        max_length=loaded.max_length,
        decoding=loaded.decoding.model_dump(mode="json"),
        directions=loaded.directions,
        fills_gaps=loaded.fills_gaps,
        imported=loaded.imported,
    )
    return start, loaded


def recall_start(folder: RunFolder) -> Start:
    """Return what the run in ``folder`` has kept of the model that it began with.

    Raises:
        ModelError: it cannot be read.
    """
    path = folder.start / _NAME
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        architecture = architecture_from(content.pop("architecture"))
        model = Path(content.pop("model"))
        directions = tuple(map(Direction.read, content.pop("directions", ())))
        kept = folder.start / _KEPT
        return Start(
            model=model,
            architecture=architecture,
            directions=directions,
            kept=kept if kept.is_dir() else None,
            **content,
        )
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ModelError(f"{path}: cannot be read ({error}); use --fresh to start anew") from error


def is_same_start(folder: RunFolder, path: Path) -> bool:
    """Tell whether ``path`` holds the weights that the run in ``folder`` began with, wherever they lie now."""
    try:
        return recall_start(folder).sha256 == listed_sha256(find_model_folder(path), _WEIGHTS)
    except (ModelError, OSError, ValueError, KeyError):
        return False


def tokenizers_of(start: Start) -> TokenizerPair:
    """Read the tokenizers of the model from its own folder."""
    return TokenizerPair.load(find_model_folder(start.model))


def languages_with(start: Start, corpus: CorpusConfig, told: tuple[str, str]) -> tuple[str, str]:
    """Return the languages of a run that begins with a model, which are the model's.

    Args:
        start: the model.
        corpus: what the user said of the languages.
        told: the languages of the corpus, as far as it tells.

    Raises:
        ConfigError: the corpus has others.
    """
    own = (start.source_lang, start.target_lang)
    if corpus.directions:
        _refuse_unknown_directions(start, corpus)
        return told
    if start.directions:
        raise ConfigError(
            f"{start.model}: translates {in_words(start.directions)}; say of every file which it is, for example "
            f"--corpus.directions {start.directions[0]}"
        )
    said_nothing = corpus.source_lang is None and corpus.target_lang is None
    if told == own or (told == _UNKNOWN_LANGUAGES and said_nothing):
        return own
    if own == _UNKNOWN_LANGUAGES:
        return told
    raise ConfigError(
        f"{start.model}: translates {own[0]} into {own[1]}, and the corpus has {told[0]} and {told[1]}; give "
        f"--source-lang {own[0]} --target-lang {own[1]} if only the names of the files differ, or "
        "--start.new-language true to teach it another language"
    )


def _refuse_unknown_directions(start: Start, corpus: CorpusConfig) -> None:
    """Raise a ConfigError if a file is of languages that the model was not trained on, as far as it knows them."""
    if start.is_unnamed:
        return
    for name in corpus.directions:
        if Direction.read(name) not in start.known:
            raise ConfigError(
                f"{start.model}: translates {in_words(start.known)}, and the corpus has {name}; give --start.new-language true "
                "to teach it another language"
            )


def refuse_sampling(sampling: float | None, source: Tokenizer, start: Start) -> None:
    """Raise a ConfigError if subword sampling is asked of a tokenizer that cuts a text in one way only."""
    cutter = source.cutter if isinstance(source, RenumberedTokenizer) else source
    if sampling and not (
        isinstance(cutter, PieceTokenizer) and cutter.kind in ("bpe", "unigram", "wordpiece")
    ):
        raise ConfigError(
            f"tokenization.sampling = {sampling:g}: the tokenizer of {start.model} has only one way to cut a "
            "text; set it to 0"
        )


def refuse_contradictions(config: RunConfig, start: Start) -> None:
    """Raise a ConfigError if what the model decides, such as its kind, does not go with what is asked for.

    As the configuration was read, the model was not known yet; a run that was saved so could not be read again.
    """
    for _, reason in contradictions_in(config):
        raise ConfigError(f"{start.model}: decides what the model is, and {reason}")


def open_again(start: Start, build_model: BuildModel) -> LoadedModel:
    """Read the starting model from where it was, or what the run has kept of it.

    Raises:
        ModelError: it is missing or damaged, or not what it was when the run was prepared.
    """
    try:
        loaded = load_model_folder(find_model_folder(start.model), build_model)
        check_is_still_there(start)
    except ModelError:
        if start.kept is None:
            raise
        loaded = load_model_folder(start.kept, build_model)
        check_is_still_there(replace(start, model=start.kept))
    return loaded


def check_is_still_there(start: Start) -> None:
    """Raise a ModelError unless the starting model, which could be opened, has the weights that the run was begun with."""
    if listed_sha256(find_model_folder(start.model), _WEIGHTS) != start.sha256:
        raise ModelError(
            f"{start.model}: is not the model that this run was begun with; put that one back, or start anew with train --fresh"
        )


def take_weights(
    model: EncoderDecoder, start: Start, tokenizers: TokenizerPair, build_model: BuildModel
) -> None:
    """Copy the weights of the starting model into ``model``, whose vocabularies may have more pieces.

    What belongs to a new piece begins as the mean of what belongs to the old pieces that spelled it.

    Raises:
        ModelError: it is missing or damaged, or not what it was when the run was prepared.
    """
    loaded = open_again(start, build_model)
    own = parameters_of(loaded.model)
    with torch.no_grad():
        for name, parameter in parameters_of(model).items():
            plain = f"{name.removesuffix(FROZEN)}.weight" if name.endswith(FROZEN) else name
            if plain in own:
                parameter.copy_(_grown(own[plain], parameter, plain, loaded, tokenizers))


def _grown(
    old: Tensor, like: Tensor, name: str, loaded: LoadedModel, tokenizers: TokenizerPair
) -> Tensor:
    """Return ``old`` with a row for each new piece, if ``like`` has more rows."""
    if old.shape == like.shape:
        return old
    is_source = name.startswith("source_embedding.")
    before: Tokenizer = loaded.tokenizers.source if is_source else loaded.tokenizers.target
    now = tokenizers.source if is_source else tokenizers.target
    rows = [old[list(ids)].mean(0) for ids in old_ids_of(before, now)]
    return torch.cat([old, torch.stack(rows)])
