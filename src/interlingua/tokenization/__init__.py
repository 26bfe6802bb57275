"""Strings to ids and back: train and apply word, character, BPE, WordPiece and Unigram tokenizers."""

from interlingua.tokenization.pair import TokenizerPair
from interlingua.tokenization.tokenizer import Encoding, Tokenizer

__all__ = ["Encoding", "Tokenizer", "TokenizerPair"]
