"""CTranslate2 on the folder that ``interlingua export --format ctranslate2`` wrote."""

import ctranslate2
from search_harness import measure, read_task
from tokenizers import Tokenizer

task, folder, way = read_task()
translator = ctranslate2.Translator(
    str(folder),
    device="cpu",
    compute_type=way["compute_type"],
    inter_threads=way["inter_threads"],
    intra_threads=way["intra_threads"],
)
lengths = {"min_decoding_length": task.length, "max_decoding_length": task.length}


def search(sources: list[list[str]]) -> list[list[str]]:
    """Search batches sorted by length, spread over its workers by itself."""
    order = sorted(range(len(sources)), key=lambda place: -len(sources[place]))
    found = translator.translate_batch(
        [sources[place] for place in order],
        beam_size=task.beam,
        max_batch_size=way["batch"],
        batch_type="examples",
        **(lengths if task.length else {}),
    )
    outputs: list[list[str]] = [[] for _ in sources]
    for place, result in zip(order, found, strict=True):
        outputs[place] = result.hypotheses[0]
    return outputs


if task.length:
    measure(task, search, version=ctranslate2.__version__)
else:
    shared = folder / "tokenizer.json"
    names = (
        [shared, shared]
        if shared.exists()
        else [folder / f"{side}_tokenizer.json" for side in ("source", "target")]
    )
    source, target = (Tokenizer.from_file(str(name)) for name in names)

    def translate(texts: list[str]) -> list[str]:
        """From text to text."""
        encoded = source.encode_batch(texts, add_special_tokens=False)
        outputs = search([each.tokens for each in encoded])
        ids = [[target.token_to_id(token) for token in output] for output in outputs]
        return target.decode_batch(ids)

    measure(task, translate, version=ctranslate2.__version__)
