"""Models on the network: what other programs' clients ask, answered by models that decode in a process of their own.

One request on its way: ``limits`` (may it come in?) -> ``bodies`` (what does it say?) -> ``libretranslate`` and the other
dialects (what is asked?) -> ``translation`` (which model, which sentences?) -> ``engine`` (queue, batches) -> ``worker`` (the model).

* ``settings``: every limit, with its default
* ``refusals``: an answer that is no success
* ``bodies``: JSON, forms and files, read within their limits
* ``languages``: codes, names, and the way from one language to another
* ``frames``: what the server and its workers say to each other
* ``worker``: the process that has the models
* ``engine``: the queue before it, and what waits decoded together
* ``detection``: which of the loaded languages a text is in
* ``translation``: texts through one model or two
* ``schemas``: what requests and answers hold
* ``libretranslate``: the API of LibreTranslate
* ``inspection``: what the page asks besides
* ``looking``: what the page asks about a model
* ``one_file``: the page with its answers as one file
* ``page_files``: the page itself
* ``limits``: hosts, sizes and headers of every request
* ``app``: all of it as one ASGI application
* ``running``: the application on a socket, until it is told to stop
"""
