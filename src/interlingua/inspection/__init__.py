"""One translation, opened up: the trace that records it, and the figures that show it.

=====================  ==========================================================
``trace``              what the model read, wrote and looked at, as one versioned record
``interventions``      the same model without a head, a layer, the mask, the scaling, the positions or a word
``beam_tree``          what a search kept, pruned and was not allowed, changed as somebody asks
``steps``              the best candidates at each step, entropy, and what each layer would have said
``saliency``           which source tokens a written token hangs on: gradient times input
``walk``               one head with its real numbers, down to one multiplication
``nearest_pairs``      the training pairs that are most like a sentence
``questions``          what can be asked about a model
``looker``             the answers
``json_form``          these records as JSON
``legible``            tokens as labels that every font and every SVG can show
``canvas``             the one look of all figures, and how they reach the disk
``attention``          who looks at whom: layers by heads, tokens on both axes
``heat_map``           the one picture of a translation
``positions``          what the model knows of positions
``softmax_jacobian``   why scores are divided by sqrt(d_k)
``gradient_reach``     how much of a gradient arrives at each source word: vanishing gradients, measured
``embeddings``         the vocabulary, seen along its principal components
``emergence``          how attention to the source emerges during training
``report``             all of these in one folder
``alignment``          which word became which; ``joint_alignment`` by two models of opposite directions
``probing``            what each encoder layer knows of a word
``ablation``           what each part is worth, as tables and curves
``reliability``        whether confidences mean what they say
=====================  ==========================================================
"""
