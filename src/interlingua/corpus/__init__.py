"""Parallel text to pairs of strings: read lines, pair them, split, fingerprint; examine and clean them; the embedded corpora.

Read:

* ``pairs``: what this room hands on
* ``lines``: lines of files, exactly; ``packed``: of compressed files; ``line_index``: any of them without those before
* ``parallel``: two small texts in memory; ``scan``: large ones where they lie, in parts
* ``formats``: TSV, JSON Lines and others as pairs; ``tmx``: translation memories; ``plain_sides``: any form as two plain files
* ``archives``, ``transfer``, ``download``: corpora by their names, brought here
* ``fingerprint``: what identifies a corpus; ``statistics``: what it is like; ``sample``: so many lines of it
* ``held_out``: which pairs are kept for validation; ``split``: training, validation and test as files
* ``corrections``: right translations that somebody told

What text is:

* ``words``: where words end; ``scripts``: in which scripts; ``language_codes``: names of languages
* ``placeholders``: what must come through unchanged
* ``dice``: choices by chance that are the same everywhere

Examine and clean:

* ``doctor``: every finding about a corpus; ``findings``: the report; ``telling``: in words
* ``survey``: one reading that leaves a few numbers a pair, by ``pair_rules``, ``damage`` and ``repeats``
* ``languages``: lines in another language; ``language_findings``: in words
* ``line_shift``: lines that do not belong together, by ``likeness``, ``lag_search``, ``large_corpus_lags``, ``lag_path``,
  ``length_profile``, ``lost_lines`` and ``chance``; ``misalignment``: in words
* ``cleaning``: what harms is dropped, after ``repairs``; ``cleaning_job``, ``pair_flags``, ``cleaning_writer``, ``cleaning_report``

Change text for training:

* ``input_noise``: as people type; ``denoising`` and ``word_noise``: with gaps; ``masking``: tokens to guess; ``half_prompt``: to write on from

Corpora that the program writes:

* ``embedded``: by their names; ``digits``: copied and reversed
* ``demo_grammar``: Romanian-English, of ``demo_sentences``, ``demo_clauses``, ``demo_phrases`` and ``demo_lexicon``
"""
