"""Model + ids -> ids: find the target that a model thinks likeliest.

=====================  ==========================================================
``protocol``           what search asks of a model: encode, start, step, reorder
``next_token``         logits -> log-probabilities of the symbols that may be written
``top_k``              the best k of a row, ties to the lowest index
``hypothesis``         what search returns, and the length penalty
``options``            how a batch is searched, and what each sentence asks for
``search``             the one door: puts together what follows, as the options say
``greedy``             always the likeliest next symbol
``beam_search``        the likeliest few continuations side by side
``held_model``         a model in memory, once for all who translate with it
``compiled_search``    the same for a model that was packed, one call a batch
``batches``            which sentences are searched together
``constraints``        what may be written next
``selection``          which candidates fill the slots: the best, diverse groups, samples
``forced``             phrases that a target must hold
``words``              where words end in a target, and phrases that it must not hold
``repetition``         does a target go round in circles
``stream``             a translation as it grows
``ensemble``           several models that write one target
``neighbours``         a memory of targets that are known to be right
``fixed_shapes``       the same rounding whatever stands in a batch
``cross_attention``    where the decoder looked, and the coverage penalty
``score``              what the model thinks of a target that is given
=====================  ==========================================================

Shapes use the package's legend, and W for the width of the beam: R = B x W rows.
"""
