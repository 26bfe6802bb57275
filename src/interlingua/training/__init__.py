"""All of the rooms above -> weights. ``run`` tells the story in order.

Before the first update:

* ``prepare``: all of it; ``run_folder``: where it is written; ``resuming``: an earlier run of the same name
* ``corpus_of_run``: the text; ``unpacking``: what is not two files of lines; ``locked_text``: whether it is still the same;
  ``directions_of_run``: tags before the sources; ``answers``: pairs that teach an encoder
* ``vocabularies_of_run``: the tokenizers; ``tokenizers_of_run``: new ones; ``word_vectors``: embeddings of others
* ``shards_of_run``: the ids
* ``automatic`` and ``automatic_vocabulary``: what is chosen, with reasons
* ``starting``: a model to begin with; ``fine_tuning``: what follows from it; ``borrowed_encoder``: its encoder alone;
  ``adapting``: which parameters learn
* ``plan``: what it will cost; ``expected_bleu``: what it will come to

Updates:

* ``assembling``: what takes part; ``data``: batches; ``loop``: from them to weights; ``train_state``: where it stands
* ``objective``, ``gradients``, ``optimizer``, ``schedule``: the paper, sections 5.3 and 5.4
* ``lack_of_memory``: a batch that does not fit; ``stopping``: when it ends
* ``checkpoint_of_run``: whether training can go on from one
* ``workers``: several processes, with ``shared_parameters`` or ``dividing``

What is seen and kept:

* ``validation``: loss and translations; ``meter``, ``metrics_log``, ``progress``: figures for a person and for the disk
* ``model_of_run``: which weights the model folder has; ``saved_form``: that folder; ``model_card``: what it says of itself
* ``start_comparison``: with the model that it began with; ``comparison``: of what the two say

Trainings of more than one run:

* ``synthetic``: text that a model wrote, for back-translation and distillation; ``rounds``: models that write it for each other
* ``lasting``: corrections learnt for good; ``old_text``: what the model learnt from, so that it is not forgotten
* ``ablation``: one thing different each time; ``replay``: the same again, bit for bit
"""
