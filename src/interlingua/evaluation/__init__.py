"""Text and references to scores: BLEU, chrF and others with signatures, significance, and the health of the outputs.

* ``metrics``: sacreBLEU's figures, with 95 % intervals
* ``sequence_metrics``: ROUGE, word or phoneme error rate, exact answers
* ``bootstrap``: the same scores on other draws of the sentences
* ``significance``: is this system better than that one, or is it chance
* ``health``: empty, repeating and copied outputs, exact matches, length
* ``legacy``: tokenized BLEU as older papers report it
* ``calibration``: does a confidence mean what it says
* ``report``: all of these for one system, as text, JSON, Markdown and LaTeX
* ``runs``: the same for several seeds, as mean and spread
* ``systems``: several systems, seeds and test sets, with what is more than chance
* ``changes``: what two systems say differently, by kind; ``comparison_page`` shows it
* ``alignment``: word alignments, and their error rate
* ``external``: metrics of other programs, each in a process of its own
* ``tables``: how a table is written in each of those forms
"""
