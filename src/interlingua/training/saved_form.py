"""What a run leaves for others: the model folder, and for an adapter its own small folder beside it."""

from collections.abc import Collection, Mapping

from torch import Tensor

from interlingua.checkpoints.adapter_folder import Adapter, save_adapter
from interlingua.checkpoints.model_folder import (
    BuildModel,
    LoadedModel,
    build,
    save_model_folder,
)
from interlingua.checkpoints.sentences import MOST_SENTENCES
from interlingua.checkpoints.store import note_if_none
from interlingua.checkpoints.weights import parameters_of
from interlingua.corpus.pairs import SentencePair
from interlingua.directions import Direction
from interlingua.model.encoder_decoder import EncoderDecoder
from interlingua.training.adapting import adapter_tensors, merged_weights
from interlingua.training.model_card import write_adapter_card, write_card
from interlingua.training.prepare import Prepared
from interlingua.training.validation import Validation, spread_by_direction

__all__ = ["SavedForm"]

_FEWEST_SENTENCES = 50
"""Of each pair of languages: enough to tell the languages of a text by."""


class SavedForm:
    """Writes weights of a run as a model that needs nothing else, whatever parts they were trained in."""

    def __init__(self, prepared: Prepared, model: EncoderDecoder, build_model: BuildModel) -> None:
        self.prepared = prepared
        self.rank = prepared.config.start.lora_rank
        self.alpha = prepared.config.start.lora_alpha or 0.0
        # An adapted model is saved merged, and has then the parts of a plain one.
        self.plain = (
            build(prepared.architecture, prepared.tokenizers, build_model) if self.rank else model
        )
        self.parameters = sum(p.numel() for p in parameters_of(self.plain).values())
        self.trained = sum(p.numel() for p in model.parameters() if p.requires_grad)

    def describe(self) -> str:
        """Say how many parameters there are, and how many of them are trained."""
        if self.trained == self.parameters:
            return f"{self.parameters:,} parameters"
        return f"{self.parameters:,} parameters, {self.trained:,} trained"

    def write(
        self, weights: Mapping[str, Tensor], validation: Validation | None, made_of: str
    ) -> None:
        """Write the model folder, and the adapter if one is trained.

        Raises:
            OutputError: a place cannot be written, or does not hold what was written to it.
        """
        prepared = self.prepared
        if self.rank and prepared.start:
            self._write_adapter(prepared.start.sha256, weights, made_of)
            weights = merged_weights(weights, self.alpha / self.rank)
        note_if_none(prepared.folder.checkpoints)
        card = self._card(validation, made_of)
        save_model_folder(prepared.folder.model, self._loaded(), weights, card)

    def mend(self, whole: Collection[str], card: str) -> None:
        """Write the model folder anew around its own weights, and what else of it is whole.

        Args:
            whole: names of the files that stay as they are, the weights among them.
            card: what its card says; nothing if that is lost.

        Raises:
            OutputError: the place cannot be written, or does not hold what was written to it.
        """
        card = card or self._card(None, "those that this folder had when its card was lost")
        save_model_folder(self.prepared.folder.model, self._loaded(), {}, card, whole)

    def _card(self, validation: Validation | None, made_of: str) -> str:
        prepared = self.prepared
        return write_card(
            prepared.config,
            directions=prepared.directions
            or (Direction(prepared.source_lang, prepared.target_lang),),
            parameters=self.parameters,
            corpus=[path.name for path in prepared.files],
            pairs=len(prepared.training.shards),
            validation=validation,
            made_of=made_of,
            origin=prepared.start.origin if prepared.start else None,
        )

    def _loaded(self) -> LoadedModel:
        """Return all that the model folder holds beside weights and card."""
        prepared, kept = self.prepared, self._sentences()
        return LoadedModel(
            model=self.plain,
            tokenizers=prepared.tokenizers,
            source_lang=prepared.source_lang,
            target_lang=prepared.target_lang,
            decoding=prepared.config.decoding,
            max_length=prepared.config.batching.max_length,
            sentences=tuple(pair for pair, _ in kept),
            directions=prepared.directions,
            sentence_directions=tuple(each for _, each in kept if each is not None),
            fills_gaps=bool(prepared.config.corpus.text and prepared.config.corpus.denoise),
            imported=prepared.start is not None and prepared.start.imported,
        )

    def _sentences(self) -> list[tuple[SentencePair, Direction | None]]:
        """Return the sentences that are kept with the model, of several pairs of languages some of each."""
        spread = spread_by_direction(self.prepared.validation, MOST_SENTENCES, _FEWEST_SENTENCES)
        return [(pair, direction) for direction, pairs in spread for pair in pairs]

    def _write_adapter(self, base_sha256: str, weights: Mapping[str, Tensor], made_of: str) -> None:
        assert self.rank
        prepared = self.prepared
        adapter = Adapter(
            rank=self.rank,
            alpha=self.alpha,
            base_sha256=base_sha256,
            source_lang=prepared.source_lang,
            target_lang=prepared.target_lang,
            tensors=adapter_tensors(weights),
        )
        card = write_adapter_card(
            adapter,
            corpus=[path.name for path in prepared.files],
            pairs=len(prepared.training.shards),
            made_of=made_of,
        )
        save_adapter(prepared.folder.adapter, adapter, card)
