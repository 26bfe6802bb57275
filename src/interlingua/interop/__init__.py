"""Other people's models and formats: bring them in, send ours out, with proof.

=======================  ==========================================================
``export``               a model folder -> a folder in another format, proved, with its card
``proof``                the same sentences through both programs: what an exporter offers, what is compared
``plain_search``         the search that other programs share, to compare theirs with
``card``                 the model card of an export
``ctranslate2_export``   a folder for CTranslate2
``argos_export``         a package for Argos Translate and LibreTranslate; ``argos_splitter`` cuts sentences there
``html_export``          one HTML file that translates; its parts are in ``html_page/``
``onnx_export``          a folder for ONNX Runtime and transformers.js
``onnx_graph``           ONNX graphs, node by node
``onnx_model``           a Transformer as four of them
``onnx_runtime``         the four in onnxruntime, under this package's search
=======================  ==========================================================
"""
