"""The ``probe`` command: what each encoder layer knows of the words."""

from dataclasses import asdict
from pathlib import Path

from interlingua.cli.flags import MachineFlags
from interlingua.cli.streams import print_json, refuse_figure, say

__all__ = ["probe"]

_MACHINE = MachineFlags()


def probe(
    model: Path,
    *,
    input: Path,
    tags: Path | None = None,
    output: Path | None = None,
    json: bool = False,
    to: str | None = None,
    machine: MachineFlags = _MACHINE,
) -> None:
    """Ask what each encoder layer knows of words: their order, and their classes if tags are given.

    A linear classifier a layer is trained on four fifths of the sentences and asked about the others.

    Args:
        model: run folder or model folder.
        input: text, one sentence a line; some thousand sentences tell more than a hundred.
        tags: the word class of each word, line by line, with spaces between.
        output: figure to write (SVG or PNG).
        json: print the figures as JSON.
        to: language to translate into, of a model of several pairs (ro), or both languages (en-ro).
    """
    from interlingua.corpus.lines import read_lines

    refuse_figure(output)
    texts = read_lines(input)
    classes = None if tags is None else [line.split() for line in read_lines(tags)]
    from interlingua.inspection.canvas import write_figure
    from interlingua.inspection.probing import draw_probes, probe_encoder
    from interlingua.translator import Translator

    translator = Translator.load(model, device=machine.device, threads=machine.threads, to=to)
    found = probe_encoder(translator, texts, classes)
    if output is not None:
        write_figure(draw_probes(found), output)
    if json:
        print_json(asdict(found))
        return
    say(
        f"{found.words:,} words of {found.sentences:,} sentences, asked about one sentence of five\n"
    )
    for layer in found.layers:
        name = "embeddings" if layer.layer == 0 else f"layer {layer.layer}"
        line = f"{name:<11} order {100 * layer.order:5.1f} %"
        if layer.word_class is not None and layer.control is not None:
            line += f"   class {100 * layer.word_class:5.1f} %   random classes {100 * layer.control:5.1f} %"
        say(line + "\n")
    if found.most_frequent is not None and found.by_word is not None:
        say(
            f"without the model: order 50 %, class {100 * found.by_word:.1f} % by the word alone, "
            f"{100 * found.most_frequent:.1f} % by the most frequent class\n"
        )
