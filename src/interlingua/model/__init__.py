r"""The paper, one section a file: Vaswani et al. 2017, "Attention Is All You Need"; and what came before and after it.

=====================  ==========================================================
``architecture``       Table 3: the numbers that describe a model
``positions``          3.5 positional encoding
``embeddings``         3.4 embeddings, scaled by sqrt(d_model)
``masks``              3.2.3 padding and look-ahead masks
``attention``          3.2.1 scaled dot-product, 3.2.2 multi-head attention
``feed_forward``       3.3 position-wise feed-forward networks
``residual``           3.1 and 5.4: dropout, residual connection, normalisation
``encoder``            3.1 the encoder stack
``decoder``            3.1 the decoder stack, and its cache for step-by-step search
``transformer``        Figure 1: the whole model
``encoder_decoder``    what training and search ask of any model here
``recurrent``          before: RNN, LSTM and GRU, one paper after the other
``source_attention``   before: how they look at the source (Bahdanau, Luong)
``convolutional``      before: Gehring et al. 2017
``labeller``           after: an encoder alone, Devlin et al. 2019
``language_model``     after: a decoder alone, Radford et al. 2018
``low_rank``           after: adapters, Hu et al. 2021
``layer_parts``        what layers are made of, and what their weights begin as
``dropout``            5.4 dropout
``removed_parts``      a Transformer without one of its parts, to see what it is for
``attention_maps``     attention weights, read by hooks
``building``           from sizes to one of these models
=====================  ==========================================================

Dimensions, batch first everywhere: B batch, S source length, T target length, H heads, D d_model, K d_k,
Kv d_v, F d_ff, V vocabulary, N layers, R rows of a search (B times beams).

This package imports no other room and nothing of the configuration.
"""
