"""Several texts, each from a language of its own: those of one language go through its models together."""

from collections.abc import Sequence

from interlingua.server.engine import Engine
from interlingua.server.marked import translate_markup
from interlingua.server.markup import Dialect
from interlingua.server.passages import Passage
from interlingua.server.translation import Translated, translate_texts

__all__ = ["translate_each"]


async def translate_each(
    engine: Engine,
    passages: Sequence[Passage],
    texts: Sequence[str],
    *,
    dialect: Dialect | None = None,
    alternatives: int = 0,
) -> list[Translated]:
    """Translate each text, in the order given.

    Args:
        engine: what has the models.
        passages: of each text.
        texts: what is translated.
        dialect: of the markup in the texts, which then have no alternatives; None for plain text.
        alternatives: the next best of each, at most.

    Raises:
        Refusal: too much waits already, or a model cannot do it.
    """
    done = [Translated(text) for text in texts]
    for way in dict.fromkeys(passage.way for passage in passages):
        places = [place for place, each in enumerate(passages) if each.way == way]
        some = [texts[place] for place in places]
        if dialect is None:
            found = await translate_texts(engine, way, some, alternatives=alternatives)
        else:
            found = [
                Translated(text) for text in await translate_markup(engine, way, some, dialect)
            ]
        for place, each in zip(places, found, strict=True):
            done[place] = each
    return done
