"""What requests hold, by their names in the APIs that they are of."""

from typing import Annotated, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

__all__ = ["DetectForm", "InspectForm", "TranslateForm"]


def _whole(text: str) -> str:
    """Half a surrogate pair, which JSON can write, is no text."""
    try:
        text.encode()
    except UnicodeEncodeError:
        raise ValueError("holds half a surrogate pair") from None
    return text


Text = Annotated[str, AfterValidator(_whole)]
Code = Annotated[str, AfterValidator(_whole), Field(max_length=40)]


class _Form(BaseModel):
    model_config = ConfigDict(extra="ignore")

    api_key: Annotated[str, Field(max_length=200)] | None = None
    """What a server with keys asks for."""


class TranslateForm(_Form):
    """A request to ``/translate``."""

    q: Text | list[Text]
    """One text, or several."""
    source: Code
    """Code of its language, or auto."""
    target: Code
    """Code of the language that is wanted."""
    format: Literal["text"] = "text"
    """What the texts are."""
    alternatives: Annotated[int, Field(ge=0)] = 0
    """How many other translations are wanted besides."""


class DetectForm(_Form):
    """A request to ``/detect``."""

    q: Text
    """The text."""


class InspectForm(_Form):
    """A request to ``/inspect``."""

    q: Text
    """A sentence."""
    source: Code
    """Code of its language."""
    target: Code
    """Code of the language that is wanted."""
    translation: Text | None = None
    """A translation to look at; by default the model's own."""
