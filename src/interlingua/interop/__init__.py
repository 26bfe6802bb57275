"""Other people's models and formats: bring them in, send ours out, with proof.

=======================  ==========================================================
``export``               a model folder -> a folder in another format, proved, with its card
``proof``                the same sentences through both programs: what an exporter offers, what is compared
``transformer_only``     refuses what came before the Transformer, for which these formats have no place
``plain_search``         the search that other programs share, to compare theirs with
``model_card``           the model card of an export
``ctranslate2_export``   a folder for CTranslate2
``ctranslate2_import``   the same, as one of ours; ``ctranslate2_file`` reads its ``model.bin``
``import_model``         another program's folder -> a model folder
``foreign_model``        what every reader makes of one
``marian_words``         a model and its search in the words of ``MarianMTModel``
``marian_layout``        which tensor of MarianMT is which of ours, and the order of features
``marian_export``        a MarianMT folder for Hugging Face
``marian_import``        a MarianMT folder of Hugging Face
``marian_npz_import``    a folder of Marian itself; ``marian_options``, ``marian_vocabularies`` and ``marian_yaml`` read what
                         stands beside the numbers, ``npz_file`` the numbers
``pickled``              a pickle of others, read where it can do nothing else
``tokenizer_json``       a tokenizer for ``tokenizers`` and transformers.js
``argos_export``         a package for Argos Translate and LibreTranslate; ``argos_splitter`` cuts sentences there
``html_export``          one HTML file that translates; its parts are in ``html_page/``
``onnx_export``          a folder for ONNX Runtime and transformers.js
``onnx_graph``           ONNX graphs, node by node
``onnx_model``           a Transformer as four of them
``onnx_runtime``         the four in onnxruntime, under this package's search
=======================  ==========================================================
"""
