"""Weights <-> disk.

``weights`` reads and writes one safetensors file, ``manifest`` proves that a folder is whole, ``store`` keeps the
checkpoints of a run, ``average`` blends the last ones, ``model_card`` says so, ``sentences`` are kept with a model to compare
copies of it by, ``model_folder`` is what a translator is loaded from, ``adapter_folder`` what fine-tuning by low
rank adds to it, ``untrusted`` looks at files before it reads them.
No pickle anywhere.
"""
