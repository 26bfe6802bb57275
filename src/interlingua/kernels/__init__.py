"""The same numbers, faster: each kernel stands beside a plain reference and is held to it by a parity test.

* ``packing``: the sentences of a batch without their padding; ``packed``: a training step on them, made of ``sublayers``
* ``matrix_products``: by the fastest of three ways, ``training_products.h`` one of them, or, if asked for, in 8-bit integers
  (``training_integers.h``); ``projected_cross_entropy``: the loss, some tokens at a time
* ``devices``: which kernels a device has
* ``native``: the functions of ``training.cpp`` and ``decoding.cpp``, made into a library by ``compiling``, here or for a wheel
* ``search``: a whole beam search in one call
* ``gpu``: the same kernels for graphics cards: ``gpu_training``, ``gpu_attention``, ``gpu_parts``; ``captured``: a step as one launch
"""
