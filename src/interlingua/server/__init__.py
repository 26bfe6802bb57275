"""Models on the network: what other programs' clients ask, answered by models that decode in a process of their own.

One request on its way: ``limits`` (may it come in?) -> ``bodies`` (what does it say?) -> ``libretranslate`` and the other
dialects (what is asked?) -> ``translation`` (which model, which sentences?) -> ``engine`` (queue, batches) -> ``worker`` (the model).

* ``settings``: every limit, with its default
* ``refusals``: an answer that is no success
* ``bodies``: JSON, forms and files, read within their limits
* ``languages``: codes, names, and the way from one language to another
* ``frames``: what the server and its workers say to each other
* ``worker``: the process that has the models
* ``collector``: when those processes look for garbage
* ``batcher``: the queue before it, and what waits decoded together
* ``engine``: that process: started, asked, replaced when it dies
* ``samples``: sentences that the models were trained with
* ``detection``: which of the loaded languages a text is in
* ``passages``: from which language, and through which models, a text gets into the one that is wanted
* ``translation``: texts through one model or two
* ``several``: texts of several languages in one request
* ``tags``: where the tags of a document are
* ``markup``: what of HTML and XML is text, and what is in it
* ``placement``: elements back around their words
* ``word_links``: which word became which
* ``marked``: texts with markup, translated
* ``word_documents``: paragraphs of Word, piece by piece
* ``documents``: files of other programs, translated
* ``streaming``: a translation while it grows
* ``schemas``: what requests and answers hold
* ``service``: what every dialect shares
* ``libretranslate``: the API of LibreTranslate
* ``deepl``: version 2 of the API of DeepL
* ``files``: whole files, and where they wait to be fetched
* ``suggestions``: better translations that people send
* ``inspection``: what the page asks besides
* ``looking``: what the page asks about a model
* ``one_file``: the page with its answers as one file
* ``page_files``: the page itself
* ``specification``: the OpenAPI document
* ``keys``: who may ask
* ``metrics``: what operators watch
* ``limits``: hosts, clients, headers and the log of every request
* ``log``: what is written for operators, a line of JSON each
* ``protocol``: HTTP below all of it: time limits, and answers in one piece
* ``app``: all of it as one ASGI application
* ``running``: the application on a socket, until it is told to stop
"""
