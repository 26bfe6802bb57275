"""The configuration of a run: one frozen, documented section a room.

A value comes from the default below, then from the TOML file, then from a flag (``--training.seed 7``).
``None`` means "chosen from the corpus"; the resolved configuration, with every choice made, is saved in the run.
``interlingua.config_files`` reads and writes it.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, field_validator
from pydantic.fields import FieldInfo

from interlingua.directions import DIRECTION

__all__ = [
    "BatchingConfig",
    "CorpusConfig",
    "DecodingConfig",
    "ModelConfig",
    "RunConfig",
    "Section",
    "Setting",
    "StartConfig",
    "TokenizationConfig",
    "TrainingConfig",
    "list_settings",
]


def _as_tuple(value: object) -> object:
    if isinstance(value, str | Path | int | float):
        return (value,)
    return tuple(value) if isinstance(value, list) else value


def _as_names(value: object) -> object:
    value = _as_tuple(value)
    return tuple(map(str, value)) if isinstance(value, tuple) else value


Paths = Annotated[tuple[Path, ...], BeforeValidator(_as_tuple)]
Weight = Annotated[float, Field(ge=1e-6, le=1000.0)]
Tag = Annotated[str, Field(pattern=r"^(<[^\s<>]+>)?$")]
DirectionName = Annotated[str, Field(pattern=DIRECTION)]
Patterns = Annotated[tuple[Annotated[str, Field(min_length=1)], ...], BeforeValidator(_as_tuple)]
"""Shell patterns over the names of parameters."""
LANGUAGE_CODE = r"^([^\s\x00-\x1f\x7f/\\.-][^\s\x00-\x1f\x7f/\\]*)?$"
LanguageCode = Annotated[str, Field(pattern=LANGUAGE_CODE)]
"""It becomes part of the names of folders, and of commands that a person types; "" for what the file name tells."""


class Section(BaseModel):
    """A frozen section that refuses keys it does not know and explains each that it does."""

    model_config = ConfigDict(
        frozen=True, extra="forbid", use_attribute_docstrings=True, allow_inf_nan=False
    )


class CorpusConfig(Section):
    """Parallel text: which files, which languages, what is held back for validation."""

    embedded: Literal["demo-ro-en", "copy", "reverse"] | None = None
    """A corpus that the program itself writes into the run folder, instead of files."""
    source: Paths = ()
    """Source text, one sentence a line; several files are read one after the other."""
    target: Paths = ()
    """Target text, line by line the translation of the source."""
    pairs: Paths = ()
    """Files with both sides, after those of source and target: TSV, JSON Lines, TMX, compressed or not; PREFIX or the
    folder of two files PREFIX.en and PREFIX.de; "-" for standard input."""
    columns: Annotated[tuple[str, ...], BeforeValidator(_as_names)] = Field(
        default=(), max_length=2, examples=["en", "de"]
    )
    """Which columns of TSV (numbers from 1, or names in its first line) or keys of JSON Lines hold source and target
    (none: the only two; keys named source and target or by the languages)."""
    text: Paths = ()
    """Text of one language, instead of source and target: each line is both. An encoder-decoder learns from it with corpus.denoise."""
    valid_text: Paths = ()
    """Validation text of corpus.text."""
    valid_source: Paths = ()
    """Validation source; when absent, a part of the training pairs is split off."""
    valid_target: Paths = ()
    """Validation target."""
    valid_pairs: Paths = ()
    """Validation pairs, in any form that corpus.pairs takes."""
    source_lang: LanguageCode | None = None
    """Language code of the source; by default the suffix of its file name."""
    target_lang: LanguageCode | None = None
    """Language code of the target; by default the suffix of its file name."""
    weights: Annotated[tuple[Weight, ...], BeforeValidator(_as_tuple)] = ()
    """How often an epoch has the pairs of each file of source and of pairs, one number a file: 2 is every pair twice, 0.5 a random
    half, another half in the next epoch (none: every pair once)."""
    temperature: float | None = Field(default=None, ge=1.0, le=1000.0)
    """Weights that follow from the sizes, n^(1/T)/n, the largest file having 1: the higher, the more often the
    small files come (None: as often as the large ones)."""
    tags: Annotated[tuple[Tag, ...], BeforeValidator(_as_tuple)] = ()
    """A symbol before every source of each file in training, one a file, "" for none: "<bt>" for text that was
    translated back. It is no text, and is not added when translating."""
    directions: Annotated[tuple[DirectionName, ...], BeforeValidator(_as_tuple)] = Field(
        default=(), examples=["en-de", "en-ro"]
    )
    """Several pairs of languages in one model: from which language into which each file of source and of pairs goes, one a file,
    "en-de", or "en:pt-BR" where a code holds a hyphen. Each source then begins with the tag of its target, "<2de>"."""
    valid_directions: Annotated[tuple[DirectionName, ...], BeforeValidator(_as_tuple)] = Field(
        default=(), examples=["en-de", "en-ro"]
    )
    """The same of the validation files (none: as of the training files, if there are as many)."""
    noise: float = Field(default=0.0, ge=0.0, le=1.0)
    """Share of the pairs that training spoils the way people type, others in each epoch: typos, titles, missing marks, emoji,
    markup. 0.3 makes a model that bears such input. Batches are made by the lengths without it, so that theirs can exceed
    batching.batch_tokens."""
    denoise: float = Field(default=0.0, ge=0.0, le=0.9)
    """Share of the words of every source that are hidden, others in each epoch, each run of them behind one "_"; the target is
    whole. 0.35 is usual for corpus.text (Lewis et al. 2020)."""
    denoise_span: float = Field(default=3.0, ge=1.0, le=100.0)
    """Mean length, in words, of a hidden run; 1 hides each word by itself."""
    denoise_reach: int = Field(default=0, ge=0, le=1000)
    """Places that a word of a source with gaps moves at most; 0 leaves the order."""
    mask: float = Field(default=0.15, gt=0.0, le=0.9)
    """Share of the tokens of corpus.text that model.kind encoder has to guess, others in each epoch (Devlin et al. 2019)."""
    valid_size: int | None = Field(default=None, ge=1)
    """Pairs split off for validation when no validation files are given (None: a twentieth, 50 to 1,000, of each direction)."""


class StartConfig(Section):
    """What the weights begin as: drawn at random, or those of a model that learns on from other text."""

    init_from: Path | None = None
    """Model folder or run that training begins with: its tokenizer, sizes and languages are kept (None: fresh
    weights)."""
    encoder_from: Path | None = None
    """Model folder or run whose encoder, source embeddings and source tokenizer training begins with; the decoder and its
    vocabulary are new. With start.freeze "encoder.*,source_embedding.*" it stays what it is (None: a fresh encoder)."""
    new_pieces: int = Field(default=0, ge=0, le=1_000_000)
    """At most so many pieces put behind those of each tokenizer of that model, learnt from the training text: for words that it
    spells out, or for another language."""
    new_language: bool = False
    """The text is of other languages than the model was trained on; otherwise that is an error."""
    source_vectors: Path | None = None
    """Vectors of words that the source embeddings begin as, without --init-from: a file of word2vec (text or binary), GloVe
    or fastText, as wide as model.d_model (None: drawn at random)."""
    target_vectors: Path | None = None
    """The same for the target."""
    freeze: Patterns = Field(default=(), examples=["encoder.*"])
    """Parameters that stay what they are, by name; a star stands for anything."""
    lora_rank: int | None = Field(default=None, ge=1, le=65536)
    """Train an adapter (Hu et al. 2021) instead of the weights: differences of so low a rank (None: all weights)."""
    lora_alpha: float | None = Field(default=None, gt=0.0)
    """The differences count alpha / rank times (None: twice the rank)."""
    lora_on: Patterns = Field(default=(), examples=["*attention.*"])
    """Matrices that get an adapter, by name (an empty list: those of all attention and feed-forward)."""
    keep_source: Paths = ()
    """Text that the model should still translate as well as before; the report at the end says whether it does."""
    keep_target: Paths = ()
    """Its translation, line by line."""

    @property
    def begins_with_a_model(self) -> bool:
        """Whether any weights come from another model."""
        return self.init_from is not None or self.encoder_from is not None


class TokenizationConfig(Section):
    """Strings to ids and back."""

    kind: Literal["bpe", "unigram", "wordpiece", "word", "char"] | None = None
    """How text is cut into tokens (None: chosen from the corpus; bpe for ordinary text)."""
    target_kind: Literal["bpe", "unigram", "wordpiece", "word", "char"] | None = None
    """How targets are cut, where they have a vocabulary of their own (None: as the source; word for the answers of model.kind encoder)."""
    vocabulary_size: int | None = Field(default=None, ge=262, le=1_000_000)
    """Entries of one vocabulary (None: chosen from the corpus). 260 are special symbols and bytes, and the
    space and one character come on top."""
    shared: bool | None = None
    """One vocabulary for both sides (None: yes when the two sides share their script)."""
    normalization: Literal["nfkc", "nfc", "none"] = "nfkc"
    """Unicode normalisation before anything else."""
    lowercase: bool = False
    """Fold case; the output is then lower-cased too."""
    byte_level: bool = False
    """Work on bytes (bpe only): decode(encode(x)) is x itself, without normalisation."""
    training_pairs: int = Field(default=1_000_000, ge=1)
    """Pairs that the vocabulary is learnt from; of a larger corpus this many are taken, evenly spread."""
    sampling: float | None = Field(default=None, ge=0.0, lt=1.0)
    """Subword sampling in training: the dropout probability of bpe (BPE-dropout) and wordpiece
    (MaxMatch-dropout), or 1 - alpha for unigram. Batches are made by the lengths without it, so that theirs can
    exceed batching.batch_tokens (None: none; where the kind is chosen too, or a starting model learns another task, 0.1 for little text)."""


class BatchingConfig(Section):
    """Ids to padded tensors."""

    batch_tokens: int | None = Field(default=None, ge=1)
    """Largest number of padded tokens a side in one batch (None: chosen from the corpus)."""
    max_length: int = Field(default=256, ge=2)
    """Longer sides are truncated to this many tokens, the end symbol included; counted and reported."""


class ModelConfig(Section):
    """The Transformer of Vaswani et al. 2017, or what came before or after it; the preset gives the sizes that are left out."""

    kind: Literal["transformer", "rnn", "lstm", "gru", "convolutional", "encoder", "decoder"] = (
        "transformer"
    )
    """The paper's model; a predecessor: a recurrent encoder-decoder (rnn, lstm, gru), or the convolutional one of
    Gehring et al. 2017; or a descendant: the decoder alone, a language model that learns from corpus.text, or the encoder alone,
    which learns hidden words from corpus.text, and tags or classes from pairs."""
    answers: Literal["tokens", "sequence"] | None = None
    """What model.kind encoder answers: one for each token of a text that it guesses, one for each word that it tags, or one for all, the class
    (None: tokens for corpus.text, else sequence)."""
    attention: Literal["additive", "dot", "none"] | None = None
    """How a recurrent decoder looks at the source: additive (Bahdanau et al. 2015), dot (Luong et al. 2015), or none: it
    knows only the encoder's last state (left out: dot)."""
    bidirectional: bool | None = None
    """A recurrent encoder reads in both directions, each with half of d_model (None: yes)."""
    kernel_width: int | None = Field(default=None, ge=1, le=99)
    """Neighbours that a convolutional layer sees, an odd number (None: 3)."""
    preset: Literal["tiny", "small", "base", "big"] | None = None
    """tiny 4+4 layers 128/256 4 heads; small 3+3 256/1024 4; base 6+6 512/2048 8; big 6+6 1024/4096
    16 (None: chosen from the corpus)."""
    encoder_layers: int | None = Field(default=None, ge=1, le=96)
    """N, encoder layers."""
    decoder_layers: int | None = Field(default=None, ge=1, le=96)
    """M, decoder layers."""
    d_model: int | None = Field(default=None, ge=2, le=16384)
    """Width of the residual stream."""
    d_ff: int | None = Field(default=None, ge=1, le=65536)
    """Inner width of the feed-forward sublayer."""
    heads: int | None = Field(default=None, ge=1, le=128)
    """Attention heads."""
    d_k: int | None = Field(default=None, ge=1)
    """Width of a query or key of one head (None: d_model / heads)."""
    d_v: int | None = Field(default=None, ge=1)
    """Width of a value of one head (None: d_model / heads)."""
    dropout: float | None = Field(default=None, ge=0.0, lt=1.0)
    """On embeddings and sublayer outputs, section 5.4 (None: chosen from the corpus size)."""
    attention_dropout: float = Field(default=0.0, ge=0.0, lt=1.0)
    """On attention weights; the paper has none."""
    activation_dropout: float = Field(default=0.0, ge=0.0, lt=1.0)
    """Inside the feed-forward sublayer; the paper has none."""
    activation: Literal["relu", "gelu", "swish", "swiglu"] = "relu"
    """Feed-forward non-linearity."""
    norm: Literal["post", "pre"] | None = None
    """Layer normalisation after (the paper) or before each sublayer (None: after, but before for tasks of rules)."""
    positions: Literal["sinusoidal", "learned"] = "sinusoidal"
    """Position encodings, section 3.5."""
    max_positions: int = Field(default=1024, ge=2, le=1_000_000)
    """Longest sequence the position table holds."""
    tie: Literal["three-way", "target", "none"] | None = None
    """Share embedding weights: both embeddings and the output (three-way), target and output, or none
    (None: three-way when the vocabulary is shared, else target)."""
    output_bias: bool = False
    """A learned number for each target token, added to its logit; the paper has none, models of Marian do."""


class TrainingConfig(Section):
    """All of the above to weights."""

    seed: int = Field(default=1, ge=0, le=2**63 - 1)
    """Seed of initialisation, order, dropout, subword sampling and noise."""
    steps: int | None = Field(default=None, ge=1)
    """Updates at most (None: chosen from the corpus, or as many as training.minutes allows)."""
    epochs: float | None = Field(default=None, gt=0)
    """Passes over the corpus at most."""
    minutes: float | None = Field(default=None, gt=0)
    """Minutes of training at most; a linear or cosine schedule then reaches zero in that time."""
    peak_learning_rate: float | None = Field(default=None, gt=0)
    """Learning rate at the end of the warm-up (None: the paper's d_model^-0.5 * warmup_steps^-0.5 for warmup_steps that are
    given, else chosen)."""
    warmup_steps: int | None = Field(default=None, ge=1)
    """Updates of linear warm-up (None: chosen from the number of steps, at least 500 for translating text)."""
    schedule: Literal["inverse-sqrt", "linear", "cosine"] | None = None
    """After the warm-up: the paper's inverse square root, or a decay to zero at the last step (None: linear for
    translating with fewer than 300,000 pairs and for tasks of a few rules, else the paper's)."""
    label_smoothing: float = Field(default=0.1, ge=0.0, lt=1.0)
    """Epsilon, spread evenly over the whole vocabulary."""
    r_drop: float = Field(default=0.0, ge=0.0)
    """Alpha of R-Drop (Wu et al. 2021): every batch passes twice, and so much weight has the divergence of the two
    predictions; 5 is usual, and doubles the work (0: one pass)."""
    ema: float | None = Field(default=None, gt=0.0, lt=1.0)
    """Decay of a running mean of the weights, such as 0.999, which is then validated and kept instead of a mean of
    checkpoints (None: no running mean)."""
    adam_beta1: float = Field(default=0.9, ge=0.0, lt=1.0)
    """Adam's first decay."""
    adam_beta2: float = Field(default=0.98, ge=0.0, lt=1.0)
    """Adam's second decay."""
    adam_epsilon: float = Field(default=1e-9, gt=0.0)
    """Adam's epsilon."""
    weight_decay: float = Field(default=0.0, ge=0.0)
    """Decoupled weight decay on matrices; the paper has none."""
    clip_norm: float | None = Field(default=1.0, gt=0.0)
    """Largest gradient norm (None: no clipping)."""
    non_finite: Literal["skip", "stop"] = "skip"
    """What to do when the loss or gradient of an update is not a finite number: leave the update out and say so
    (ten in a row still end the run), or end the run."""
    accumulate: int = Field(default=1, ge=1)
    """Batches added up before one update."""
    validate_every: int | None = Field(default=None, ge=1)
    """Updates between validations (None: chosen from the corpus)."""
    validate_sentences: int = Field(default=200, ge=1)
    """Validation sentences that are decoded for BLEU and chrF; the loss uses all."""
    patience: int | None = Field(default=None, ge=1)
    """Stop after this many validations without a better one (None: 10, or 5 where a model learns on what it does already)."""
    average_last: int = Field(default=5, ge=1)
    """Checkpoints averaged into the model folder."""
    keep_checkpoints: int = Field(default=5, ge=2)
    """Checkpoints kept on disk."""
    dtype: Literal["auto", "float32", "bfloat16", "int8"] = "auto"
    """Arithmetic of the matrix products; auto is bfloat16 where the hardware has it. int8: bfloat16, and the products of the paper's
    Transformer in 8-bit integers, a quarter to a half faster and a little other numbers (AMD from Zen 4 on, Intel with AVX-512 BF16 and without AMX)."""
    plain: bool = False
    """Compute with the plain references instead of the kernels that equal them: slower, to compare."""
    device: str = Field(
        default="auto",
        pattern=r"^(auto|cpu|mps|cuda(:[0-9]+)?)$",
        examples=["auto", "cpu", "cuda", "cuda:1", "mps"],
    )
    """Where the matrices are multiplied; auto takes a graphics card when there is one."""
    threads: int | None = Field(default=None, ge=1, le=1024)
    """CPU threads of a process (None: all cores, shared among the processes of one machine). Before training, also the
    number of processes that cut text into tokens, 16 at most (None: one a core)."""
    shard: bool = False
    """Under torchrun, divide weights, gradients and moments among the processes instead of keeping all in each (FSDP2):
    slower, for models that are too large otherwise. The processes of one Linux machine keep weights and moments once anyway, on its CPUs."""
    worker_timeout: float = Field(default=1800.0, gt=0.0)
    """Seconds that the processes of a run under torchrun wait for one that does not answer, before all end."""

    @property
    def follows_clock(self) -> bool:
        """Whether the learning rate of an update hangs on the time that has passed."""
        return self.minutes is not None and self.schedule in ("linear", "cosine")


class DecodingConfig(Section):
    """Model and ids to ids."""

    beam_size: int = Field(default=4, ge=1, le=1024)
    """Hypotheses kept; 1 is greedy search."""
    length_penalty: float = Field(default=0.6, ge=-10.0, le=10.0)
    """Alpha in ((5 + length) / 6)^alpha, Wu et al. 2016, equation 14; beyond 10 the scores of long outputs
    can no longer be told apart in single precision."""
    max_length_factor: float = Field(default=2.0, gt=0.0)
    """Longest output: factor * source length + offset, in tokens."""
    max_length_offset: int = Field(default=50, ge=0)
    """Tokens that the longest output may have beyond max_length_factor * source length."""
    batch_tokens: int = Field(default=4096, ge=1)
    """Padded source tokens times beams in one batch."""


class RunConfig(Section):
    """Everything that decides a run."""

    run_dir: Path | None = None
    """Where the run lives (None: runs/SOURCE-TARGET, with -tuned behind it after start.init_from)."""
    corpus: CorpusConfig = CorpusConfig()
    start: StartConfig = StartConfig()
    tokenization: TokenizationConfig = TokenizationConfig()
    batching: BatchingConfig = BatchingConfig()
    model: ModelConfig = ModelConfig()
    training: TrainingConfig = TrainingConfig()
    decoding: DecodingConfig = DecodingConfig()

    @field_validator("run_dir", mode="before")
    @classmethod
    def _refuse_the_empty_name(cls, value: object) -> object:
        """An empty name would be the current folder, which nobody means to fill."""
        if value == "":
            raise ValueError("run_dir is empty")
        return value


@dataclass(frozen=True, slots=True)
class Setting:
    """One key of the configuration, explained."""

    key: str
    """Its full name, ``training.seed``."""
    description: str
    """What it decides."""
    values: str
    """What it takes, in words."""
    default: object
    """Its value when neither file nor flag gives one; None is "chosen from the corpus" or "not set"."""
    field: FieldInfo
    """The pydantic field behind it."""

    @property
    def section(self) -> str:
        """The section it stands in; empty at the top."""
        return self.key.rpartition(".")[0]

    @property
    def name(self) -> str:
        """Its name within the section."""
        return self.key.rpartition(".")[2]

    @property
    def has_none(self) -> bool:
        """Whether ``"none"`` in a file or flag means "not set"."""
        types = _types_of(self.field)
        return NoneType in types and "none" not in _choices_of(types)

    @property
    def default_in_words(self) -> str:
        """The default as it would be typed."""
        if self.default is None:
            return "none"
        if isinstance(self.default, bool):
            return "true" if self.default else "false"
        if self.default == ():
            return "(no file)" if Path in _items_of(self.types) else "(an empty list)"
        return str(self.default)

    def to_text(self) -> str:
        """Explain it to a person, in three lines."""
        lines = [
            self.key,
            self.description,
            f"takes {self.values}; default {self.default_in_words}",
        ]
        return "\n    ".join(lines) + "\n"

    def to_dict(self) -> dict[str, object]:
        """Explain it to a program."""
        return {
            "key": self.key,
            "description": self.description,
            "takes": self.values,
            "default": self.default,
        }

    @property
    def types(self) -> frozenset[Any]:
        """The Python types that the value may have."""
        return frozenset(_types_of(self.field))

    @property
    def items(self) -> frozenset[Any]:
        """The Python types that a list in its place may hold; none if it takes no list."""
        return frozenset(_items_of(self.types))


def list_settings() -> tuple[Setting, ...]:
    """Every key of the configuration, in the order of the data."""
    return tuple(_walk(RunConfig, ""))


def _walk(section: type[BaseModel], prefix: str) -> Iterator[Setting]:
    for name, field in section.model_fields.items():
        if isinstance(field.annotation, type) and issubclass(field.annotation, Section):
            yield from _walk(field.annotation, f"{prefix}{name}.")
        else:
            description = " ".join((field.description or "").split())
            yield Setting(prefix + name, description, _in_words(field), field.default, field)


def _types_of(field: FieldInfo) -> tuple[Any, ...]:
    annotation = field.annotation
    if get_origin(annotation) in (Union, UnionType):
        return get_args(annotation)
    return (annotation,)


def _choices_of(types: tuple[Any, ...]) -> tuple[str, ...]:
    return tuple(c for one in types if get_origin(one) is Literal for c in get_args(one))


def _items_of(types: Iterable[Any]) -> tuple[Any, ...]:
    """Return what the lists among ``types`` hold, without its bounds."""
    return tuple(
        get_args(item)[0] if get_origin(item) is Annotated else item
        for one in types
        if get_origin(one) is tuple
        for item in get_args(one)
        if item is not ...
    )


def _in_words(field: FieldInfo) -> str:
    """Say what a field takes, for ``config explain`` and for every message about a wrong value."""
    types = _types_of(field)
    words = _type_in_words(field, types)
    return f'{words}, or "none"' if NoneType in types and "none" not in words else words


def _type_in_words(field: FieldInfo, types: tuple[Any, ...]) -> str:
    if choices := _choices_of(types):
        return "one of " + ", ".join(choices)
    if bool in types:
        return "true or false"
    if int in types:
        return "a whole number" + _bounds_in_words(field)
    if float in types:
        return "a number" + _bounds_in_words(field)
    if Path in types:
        return "the name of a file or folder"
    if items := _items_of(types):
        return _items_in_words(field, items)
    if field.examples:
        return "one of " + ", ".join(map(str, field.examples))
    return "text"


def _items_in_words(field: FieldInfo, items: tuple[Any, ...]) -> str:
    if Path in items:
        return "the name of a file, or a list of them"
    if float in items:
        return "a number from 0.000001 to 1,000, or a list of them"
    if field.examples:
        if "-" in str(field.examples[0]):
            return f'two languages such as "{field.examples[0]}", or a list of them'
        if len(field.examples) == 2:
            return 'two numbers or names: 1,2 or en,de as a flag, ["1", "2"] in a file'
        return f'a pattern such as "{field.examples[0]}", or a list of them'
    return 'a symbol such as "<bt>", or a list of them'


def _bounds_in_words(field: FieldInfo) -> str:
    words = {"ge": "at least", "gt": "above", "le": "at most", "lt": "below"}
    bounds = [
        f"{phrase} {getattr(rule, name):,}"
        for rule in field.metadata
        for name, phrase in words.items()
        if getattr(rule, name, None) is not None
    ]
    return (" " if bounds else "") + " and ".join(bounds)
