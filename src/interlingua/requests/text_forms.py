"""What text is to each kind of model: a source to translate, a prompt to write on from, or a question to answer.

Three small classes of the same three functions; :func:`text_form_of` chooses one.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from interlingua.batching.truncation import Truncated, truncate
from interlingua.decoding.constraints import Constraint, TargetForm
from interlingua.model.labeller import Labeller
from interlingua.model.language_model import LanguageModel
from interlingua.tokenization.gaps import encode_with_gaps
from interlingua.tokenization.pair import TokenizerPair
from interlingua.tokenization.truecasing import truecase_sources
from interlingua.tokenization.word_vectors import words_of
from interlingua.tokenization.words import first_tokens

__all__ = ["Prompts", "Questions", "Sources", "text_form_of"]


@dataclass(frozen=True, slots=True)
class Sources:
    """Text to translate."""

    tokenizers: TokenizerPair
    longest: int
    """Tokens of a source at most, the end symbol included."""

    @property
    def takes_corrections(self) -> bool:
        """Whether the correction of a text can be followed."""
        return True

    def read(self, texts: Sequence[str]) -> tuple[dict[int, Sequence[int]], set[int]]:
        """Return the ids of each text by its place, without those that hold nothing, and the places of those that were cut."""
        places = [place for place, text in enumerate(texts) if text and not text.isspace()]
        fitting = self.fit([texts[place] for place in places])
        sources = {place: ids for place, ids in zip(places, fitting.ids, strict=True) if ids}
        return sources, {places[position] for position in fitting.cut}

    def encode(self, texts: Sequence[str]) -> Sequence[Sequence[int]]:
        """Return the ids of each text, however many."""
        return self.tokenizers.source.encode_batch(list(texts))

    def fit(self, texts: Sequence[str]) -> Truncated:
        """Return the ids of each text, of one that holds nothing too, as many as the model reads."""
        return truncate(self.encode(texts), self.longest)

    def write(self, ids: Sequence[int], source: Sequence[int]) -> str:
        """Return the text of what was written for ``source``."""
        return self.tokenizers.target.decode(list(ids))

    def constraints(self, sources: Iterable[Sequence[int]]) -> list[Constraint]:
        """Return what the form itself demands of the targets of ``sources``."""
        return []


@dataclass(frozen=True, slots=True)
class Prompts(Sources):
    """Text that a language model writes on from where it stops: what it writes is what follows, space and all."""

    def read(self, texts: Sequence[str]) -> tuple[dict[int, Sequence[int]], set[int]]:
        """Return the last ids of each text, of an empty one too, and the places of those that were cut."""
        fitting = self.fit(texts)
        return dict(enumerate(fitting.ids)), set(fitting.cut)

    def fit(self, texts: Sequence[str]) -> Truncated:
        """Return the last ids of each text, as many as the model reads: what follows a prompt depends on its end."""
        prompts, room = self.encode(texts), self.longest - 1
        cut = tuple(place for place, ids in enumerate(prompts) if len(ids) > room)
        return Truncated([tuple(ids[-room:]) for ids in prompts], cut)

    def write(self, ids: Sequence[int], source: Sequence[int]) -> str:
        """Return the text that follows the prompt."""
        target = self.tokenizers.target
        before, whole = target.decode(list(source)), target.decode([*source, *ids])
        return whole.removeprefix(before)


@dataclass(frozen=True, slots=True)
class Questions(Sources):
    """Text that an encoder alone answers: with one symbol for the whole, or with one for each token, or word."""

    answers: Literal["tokens", "sequence"]
    choices: tuple[int, ...] | None
    """The tags or classes, without the letters and bytes that every vocabulary has; None where words of the text are guessed."""

    @property
    def takes_corrections(self) -> bool:
        """Not where each answer is read at a token of its own: it gives one for every token, however many answers were told."""
        return self.answers != "tokens"

    @property
    def guesses(self) -> bool:
        """Whether it learnt hidden words: then it guesses each word of a text that is only "_"."""
        return self.answers == "tokens" and self.tokenizers.shared

    def encode(self, texts: Sequence[str]) -> Sequence[Sequence[int]]:
        """Return the ids of each text, with the unknown symbol for what is to be guessed."""
        if not self.guesses:
            return self.tokenizers.source.encode_batch(list(texts))
        return [encode_with_gaps(self.tokenizers.source, text) for text in texts]

    def constraints(self, sources: Iterable[Sequence[int]]) -> list[Constraint]:
        """Ask for as many answers as there are; what is not guessed is the source itself."""
        forms = [self._form(ids) for ids in sources]
        return [TargetForm(forms, self.tokenizers.target.end_id, self.choices)]

    def write(self, ids: Sequence[int], source: Sequence[int]) -> str:
        """Return the answer; of tags those of the first token of each word."""
        if self.answers == "tokens" and not self.guesses:
            starts = first_tokens(self.tokenizers.source, source)
            ids = [ids[place] for place in starts if place < len(ids)]
        return Sources.write(self, ids, source)

    def _form(self, ids: Sequence[int]) -> tuple[int | None, ...]:
        if self.answers == "sequence":
            return (None,)
        unknown = self.tokenizers.source.unknown_id
        return tuple(id if self.guesses and id != unknown else None for id in ids)


def text_form_of(
    model: object, tokenizers: TokenizerPair, longest: int, source_lang: str
) -> Sources:
    """Choose what text is to ``model``; a source to translate is read :mod:`truecased <interlingua.tokenization.truecasing>`.

    Args:
        model: of any kind.
        tokenizers: its own.
        longest: tokens that it reads at most, the end symbol included.
        source_lang: language of the texts.
    """
    if isinstance(model, LanguageModel):
        return Prompts(tokenizers, longest)
    if isinstance(model, Labeller):
        is_closed = not tokenizers.shared
        choices = tuple(words_of(tokenizers.target)) if is_closed else None
        return Questions(tokenizers, longest, model.architecture.answers, choices)
    return Sources(truecase_sources(tokenizers, source_lang), longest)
