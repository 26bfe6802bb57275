"""Interlingua's own search: the same task, by the same clock."""

import torch
from search_harness import measure, read_task

import interlingua
from interlingua.decoding.batches import in_batches, side_by_side
from interlingua.decoding.compiled_search import compiled_beam_search
from interlingua.decoding.options import SearchOptions
from interlingua.translator import Translator

task, folder, way = read_task()
translator = Translator.load(folder, device="cpu", dtype=way["dtype"], threads=task.threads)
compiled, ids = translator.compiled, translator.tokenizers.target
assert compiled is not None, "needs a C++ compiler"


def search(sources: list[list[int]]) -> list[tuple[int, ...]]:
    """From ids to ids, as the translator does, but every output of one length."""
    lengths = {place: len(source) for place, source in enumerate(sources)}
    batches = in_batches(lengths, way["batch"] // task.beam, torch.get_num_threads())
    outputs: list[tuple[int, ...]] = [()] * len(sources)

    def search_batch(places: list[int]) -> list[tuple[int, ...]]:
        found = compiled_beam_search(
            compiled,
            [sources[place] for place in places],
            symbols=ids.symbols,
            max_lengths=[task.length] * len(places),
            options=SearchOptions(beam_size=task.beam, min_length=task.length),
        )
        return [best.ids for best, *_ in found]

    for places, found in zip(
        batches, side_by_side(search_batch, batches, torch.get_num_threads()), strict=True
    ):
        for place, output in zip(places, found, strict=True):
            outputs[place] = output
    return outputs


def translate(texts: list[str]) -> list[str]:
    """From text to text."""
    found = translator.translate(texts, beam_size=task.beam, batch_tokens=way["batch"])
    return [each.text for each in found]


measure(task, search if task.length else translate, version=interlingua.__version__)
