"""What the page asks for: everything that ``interlingua.inspection.questions`` names, which models lead from one language
to another, and the page as one file.
"""

from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response
from starlette.routing import Route

from interlingua.inspection.questions import QUESTIONS, TraceQuestion, TreeQuestion
from interlingua.server.bodies import read_as
from interlingua.server.one_file import PLACE, one_file
from interlingua.server.service import Service, answer_within

__all__ = ["routes"]

_NOT_TO_BE_SHOWN = {"Content-Disposition": 'attachment; filename="interlingua.html"'}
"""The file has its program in itself, which no page of this server may have."""


def routes(service: Service) -> list[Route]:
    """Return a route for each question, ``POST /inspect/NAME``, one for the ways, and one for the page as one file."""

    def answering(name: str) -> Route:
        async def answer(request: Request) -> JSONResponse:
            question = await read_as(request, QUESTIONS[name], service.settings.max_body)
            service.authorise(request)
            if isinstance(question, TraceQuestion | TreeQuestion):
                service.check_inspected(*_looked_into(name, question))
            asked = {"do": "look", "name": name, "content": question.model_dump(mode="json")}
            return JSONResponse(await answer_within(service, request, service.engine.ask(asked)))

        return Route(f"/inspect/{name}", answer, methods=["POST"])

    async def ways(request: Request) -> JSONResponse:
        service.authorise(request)
        return JSONResponse(
            {
                "ways": [
                    {"source": source, "target": target, "models": [each.number for each in way]}
                    for (source, target), way in service.languages.ways().items()
                ]
            }
        )

    blank = one_file(PLACE)

    async def page(request: Request) -> Response:
        return HTMLResponse(blank, headers=_NOT_TO_BE_SHOWN)

    return [
        *map(answering, QUESTIONS),
        Route("/inspect/ways", ways),
        Route("/inspect/page", page),
    ]


def _looked_into(name: str, question: TraceQuestion | TreeQuestion) -> list[str | None]:
    """Return the texts that a question opens up as one sentence each.

    A whole text is only translated (``translation``): the model opens its sentences up, as far as they are short enough.
    """
    if isinstance(question, TreeQuestion):
        return [question.text, question.edits.typed]
    return [None if name == "translation" else question.text, question.target]
