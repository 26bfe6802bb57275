"""The ``back-translate`` command: text of the target language becomes a corpus with synthetic sources."""

from pathlib import Path

from interlingua.cli.back_flags import BackFlags, check_back_flags
from interlingua.cli.flags import MachineFlags, SearchFlags, SyntheticFlags, ValidFlags
from interlingua.cli.streams import print_json, refuse_missing_text, refuse_odd_names, say

__all__ = ["back_translate"]

_BACK, _SEARCH, _SYNTHETIC = BackFlags(), SearchFlags(), SyntheticFlags()
_VALID, _MACHINE = ValidFlags(), MachineFlags()


def back_translate(
    reverse_model: Path,
    *,
    mono: Path,
    output: Path,
    back: BackFlags = _BACK,
    search: SearchFlags = _SEARCH,
    keep: SyntheticFlags = _SYNTHETIC,
    valid: ValidFlags = _VALID,
    to: str | None = None,
    machine: MachineFlags = _MACHINE,
) -> int:
    """Make synthetic sources for text of the target language, by a model of the opposite direction.

    Writes back-translated.SOURCE and back-translated.TARGET, and, given the genuine pairs, train.toml, which trains on both.
    The same command goes on where it was stopped. What the model is least sure of goes, and what clean would drop.
    With --iterations it trains as well, forward and reverse models in turn.

    Args:
        reverse_model: run folder or model folder, which translates the target language into the source language.
        mono: text of the target language, one sentence a line.
        output: folder for the corpus.
        to: language to translate into, of a model of several pairs (en), or both languages (ro-en).
    """
    from interlingua.cli.back_translation import BackTranslation
    from interlingua.cli.iterations import back_translate_in_turn
    from interlingua.cli.synthetic import check_flags, refuse_damaged, refuse_unequal
    from interlingua.cli.synthetic_folder import refuse_another_text

    check_back_flags(back)
    check_flags(keep)
    read = (back.source, back.target, valid.valid_source, valid.valid_target, *keep.held_out)
    refuse_odd_names((reverse_model, output, mono, back.mono_source, *read))
    for path in (mono, back.mono_source, back.config, *read):
        refuse_missing_text(path)
    refuse_unequal(back.source, back.target)
    refuse_unequal(valid.valid_source, valid.valid_target)
    refuse_damaged(keep.held_out)
    work = BackTranslation(back, search, keep, machine, to)
    if back.iterations is not None:
        return back_translate_in_turn(work, reverse_model, mono, output, valid)
    refuse_another_text(output, mono)
    found = work.make(reverse_model, mono, output, (back.source, back.target), valid)
    if found is None:
        return 0
    told, words = found
    if keep.json:
        print_json(told)
    else:
        say(words)
    return 0


back_translate.__name__ = "back-translate"  # what it is called
