"""All of the rooms above -> weights.

``run`` tells the story in order: the corpus, the choices made from it (``automatic``), the tokenizer and shards, the
model, the ``loop`` over batches with its ``objective``, ``schedule`` and ``optimizer``, ``validation``, and the
model folder with its ``card``. ``run_folder`` is where all of it is written, ``plan`` says beforehand what it costs.
"""
