"""The command line: what was typed -> one of the rooms, and what it answers -> words for a person, or JSON.

* ``commands``: one short function a command, in the order of the help; ``dispatch`` chooses it
* ``flags``: what several commands take; ``interrupts``: what stops a command
* ``streams``: text in and out, and the exit status; ``results``, ``marks``: what is told at the end

A command that is longer than reading its flags and asking a room has a file by its name:

* ``demo``, ``translate``, ``evaluate``, ``compare``, ``score``, ``calibrate``, ``align``, ``tokenize``, ``tokenizer``
* ``correct``, ``adapt``, ``replay``, ``ablate``, ``probe``, ``serve``; ``interop``: export and import
* ``back_translate``: ``back_flags``, ``back_translation`` makes one corpus, ``iterations`` has models trained on several in turn
* ``distill``; it shares ``synthetic``, which makes a corpus, and ``synthetic_folder``, where that lies, with ``back_translation``
* ``bulk``: files and folders of text, part by part
* ``doctor``, ``clean``, ``download``, ``split``; ``parts``: the parts of a corpus that they read
"""

from interlingua.cli.commands import main

__all__ = ["main"]
