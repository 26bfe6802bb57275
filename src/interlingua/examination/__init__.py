"""What is wrong with a model, a run or this machine: what ``doctor`` tells of anything but text.

=====================  ==========================================================
``models_and_runs``    everything about a model or a run, put together
``model_files``        the files of a model folder, and the numbers in them
``model_behaviour``    what the model does: padding, neighbours, repeated and cut-off output
``attention_health``   heads that look nowhere, everywhere, or as another does
``run_records``        what a run wrote down: its corpus, its checkpoints, its losses
``corpus_size``        whether so much text fits what a configuration asks for
``environment``        this machine: its threads, its compiler, what is installed
=====================  ==========================================================
"""
