"""What a text asks for besides being translated, checked before anything is computed.

* ``request``: the options of one call, and the frozen record that they become
* ``glossary``: terms whose translation is prescribed
* ``demands``: what one text demands of its translation, and whether it has it
* ``wishes``: what it asks of the search: length, beginning, samples
* ``holding``: translate, check, and translate again until the demands are met
* ``sentences``: long text into sentences, and back
* ``bayes_risk``: of several translations the one most like the others
* ``scoring``: what a model thinks of given translations
* ``faults``: loops, copies and gaps, seen without a reference
* ``confidence``: how sure one may be
* ``remembering``: a folder of corrections as a memory for the search
* ``text_forms``: what text is to each kind of model: a source, a prompt, a question
* ``translation``: what one text became
"""
