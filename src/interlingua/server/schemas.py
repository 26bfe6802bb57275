"""What requests hold, by their names in the APIs that they are of."""

from typing import Annotated, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

__all__ = ["DeeplForm", "DetectForm", "InspectForm", "SuggestForm", "TranslateForm"]


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
    model_config = ConfigDict(extra="ignore", use_attribute_docstrings=True)

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
    format: Literal["text", "html"] = "text"
    """What the texts are."""
    alternatives: Annotated[int, Field(ge=0)] = 0
    """How many other translations are wanted besides."""
    stream: bool = False
    """Whether the translation comes piece by piece, as server-sent events; for one text."""


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


class SuggestForm(_Form):
    """A request to ``/suggest``."""

    q: Text
    """The text."""
    s: Text
    """A better translation of it."""
    source: Code
    """Code of its language."""
    target: Code
    """Code of the other."""


class DeeplForm(BaseModel):
    """A request to ``/v2/translate``; what is not here is not looked at."""

    model_config = ConfigDict(extra="ignore", use_attribute_docstrings=True)

    text: Text | list[Text]
    """One text, or several."""
    target_lang: Code
    """Code of the language that is wanted, in capitals."""
    source_lang: Code | None = None
    """Code of the language of the texts; found out when left out."""
    tag_handling: Literal["xml", "html"] | None = None
    """Whether the texts have markup."""
    show_billed_characters: bool = False
    """Whether each answer tells how many characters it was for."""
    formality: Literal["default", "more", "less", "prefer_more", "prefer_less"] = "default"
    """Refused if it demands what no model does."""
    glossary_id: Annotated[str, Field(max_length=100)] | None = None
    """Refused, as there are no glossaries."""
    ignore_tags: Text | list[Text] | None = None
    """Refused; an element with translate="no" stays as it is."""

    @property
    def texts(self) -> list[str]:
        """The texts, however they were sent."""
        return self.text if isinstance(self.text, list) else [self.text]
