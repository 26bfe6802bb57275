"""What the page asks for besides translations: one translation, opened up."""

from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

from interlingua.server.bodies import read_as
from interlingua.server.refusals import Refusal
from interlingua.server.schemas import InspectForm
from interlingua.server.service import Service, answer_within

__all__ = ["routes"]


def routes(service: Service) -> list[Route]:
    """Return the routes of inspection."""
    settings = service.settings

    async def inspect(request: Request) -> JSONResponse:
        """Return the trace of one translation; see ``interlingua.inspection.trace``."""
        form = await read_as(request, InspectForm, settings.max_body)
        service.authorise(request, form.api_key)
        service.check_inspected(form.q, form.translation)
        source, target = (service.languages.known(code) for code in (form.source, form.target))
        way = service.languages.require_way(source, target)
        if len(way) != 1:
            raise Refusal(400, f"Invalid request: no model translates {source} to {target} itself")
        asked = {
            "do": "inspect",
            "model": way[0].number,
            "text": form.q,
            "target": form.translation,
        }
        return JSONResponse(await answer_within(service, request, service.engine.ask(asked)))

    return [Route("/inspect", inspect, methods=["POST"])]
