"""Strings to ids and back: train and apply word, character, BPE, WordPiece and Unigram tokenizers.

* ``tokenizer``: what every tokenizer does; ``pair``: those of the two sides
* ``train``: learn a vocabulary; ``sentencepiece_training``: as SentencePiece does; ``learnt_from``: how much text it has seen
* ``piece_tokenizer``: what is trained here, of ``normalisation``, ``text_form``, ``segmentation`` and ``vocabulary``
* ``sampling``: other cuts of the same word in training
* ``extension``: more pieces for a vocabulary that a model knows
* ``document``: ``tokenizer.json`` on disk; ``piece_document``: what is trained here as one
* ``around``: a tokenizer around another: ``tagged``: a language before it; ``truecasing``: capitals; ``gaps``: hidden words
* ``foreign``: tokenizers of other tools: ``sentencepiece_model``, ``subword_nmt``, ``huggingface``; ``renumbered``: with other ids
* ``sentencepiece_writing``: ours for SentencePiece; ``charsmap`` and ``charsmap_rules``: its normalisation
* ``words``: which word a token belongs to; ``word_vectors``: vectors that others have trained
"""

from interlingua.tokenization.pair import TokenizerPair
from interlingua.tokenization.tokenizer import Encoding, Tokenizer

__all__ = ["Encoding", "Tokenizer", "TokenizerPair"]
