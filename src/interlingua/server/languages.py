"""Codes and names of languages, and the way from one to another through the models that are there."""

from collections import deque
from collections.abc import Sequence

from interlingua.server.engine import ServedModel
from interlingua.server.refusals import Refusal

__all__ = ["Languages", "name_of"]

_NAMES = {
    "af": "Afrikaans", "am": "Amharic", "ar": "Arabic", "as": "Assamese", "ast": "Asturian", "az": "Azerbaijani", "be": "Belarusian",
    "bg": "Bulgarian", "bn": "Bengali", "bo": "Tibetan", "br": "Breton", "bs": "Bosnian", "ca": "Catalan", "ceb": "Cebuano", "cs": "Czech",
    "cy": "Welsh", "da": "Danish", "de": "German", "el": "Greek", "en": "English", "eo": "Esperanto", "es": "Spanish", "et": "Estonian",
    "eu": "Basque", "fa": "Persian", "fi": "Finnish", "fr": "French", "fy": "Western Frisian", "ga": "Irish",
    "gd": "Scottish Gaelic", "gl": "Galician", "gu": "Gujarati", "ha": "Hausa", "he": "Hebrew", "hi": "Hindi", "hr": "Croatian",
    "ht": "Haitian Creole", "hu": "Hungarian", "hy": "Armenian", "id": "Indonesian", "ig": "Igbo", "is": "Icelandic", "it": "Italian",
    "ja": "Japanese", "jv": "Javanese", "ka": "Georgian", "kk": "Kazakh", "km": "Khmer", "kn": "Kannada", "ko": "Korean", "ku": "Kurdish",
    "ky": "Kyrgyz", "la": "Latin", "lb": "Luxembourgish", "lo": "Lao", "lt": "Lithuanian", "lv": "Latvian", "mg": "Malagasy", "mi": "Maori",
    "mk": "Macedonian", "ml": "Malayalam", "mn": "Mongolian", "mr": "Marathi", "ms": "Malay", "mt": "Maltese", "my": "Burmese",
    "nb": "Norwegian Bokmål", "ne": "Nepali", "nl": "Dutch", "nn": "Norwegian Nynorsk", "no": "Norwegian", "oc": "Occitan", "or": "Odia",
    "pa": "Punjabi", "pl": "Polish", "ps": "Pashto", "pt": "Portuguese", "pt-BR": "Portuguese (Brazil)", "qu": "Quechua", "ro": "Romanian",
    "ru": "Russian", "rw": "Kinyarwanda", "sa": "Sanskrit", "sd": "Sindhi", "si": "Sinhala", "sk": "Slovak", "sl": "Slovenian",
    "sm": "Samoan", "sn": "Shona", "so": "Somali", "sq": "Albanian", "sr": "Serbian", "su": "Sundanese", "sv": "Swedish", "sw": "Swahili",
    "ta": "Tamil", "te": "Telugu", "tg": "Tajik", "th": "Thai", "tk": "Turkmen", "tl": "Tagalog", "tr": "Turkish", "tt": "Tatar",
    "ug": "Uyghur", "uk": "Ukrainian", "ur": "Urdu", "uz": "Uzbek", "vi": "Vietnamese", "wo": "Wolof", "xh": "Xhosa", "yi": "Yiddish",
    "yo": "Yoruba", "zh": "Chinese", "zh-Hans": "Chinese", "zh-Hant": "Chinese (traditional)", "zu": "Zulu",
}  # fmt: skip


def name_of(code: str) -> str:
    """Return the English name of a language, or its code where there is none."""
    return _NAMES.get(code, code)


class Languages:
    """The languages of the models that are served.

    Args:
        models: in the order of their importance: of two for the same pair the first is used.
    """

    def __init__(self, models: Sequence[ServedModel]) -> None:
        self._direct: dict[tuple[str, str], ServedModel] = {}
        for model in models:
            self._direct.setdefault((model.source, model.target), model)
        self.sources = tuple(dict.fromkeys(source for source, _ in self._direct))
        self.targets = tuple(dict.fromkeys(target for _, target in self._direct))
        self.every = tuple(dict.fromkeys(code for pair in self._direct for code in pair))
        self._sources_of: dict[str, tuple[str, ...]] = {}

    def targets_of(self, source: str) -> tuple[str, ...]:
        """Return what a language can be translated into; into itself, which leaves it as it is unless a model does that, too."""
        return tuple(
            code for code in self.every if code == source or self.way(source, code) is not None
        )

    def sources_of(self, target: str) -> tuple[str, ...]:
        """Return what a text may be taken for that is to be translated into ``target``: the languages from which a way leads
        there, and ``target`` itself, which is left as it is.

        Where no model writes ``target``, every language: a text in another one is then refused, and not given back as if it
        were translated.
        """
        if target not in self._sources_of:  # one search a language, each time a text is asked about
            found = tuple(code for code in self.every if self.way(code, target) is not None)
            self._sources_of[target] = found if target in self.targets else self.every
        return self._sources_of[target]

    def way(self, source: str, target: str) -> tuple[ServedModel, ...] | None:
        """Return the models to go through: one, or as few as there must be.

        None at all (an empty tuple) for the same language, unless a model stays within it, as one that summarises or writes
        on does. None where no way leads from ``source`` to ``target``.
        """
        if source == target and (source, source) in self._direct:
            return (self._direct[source, source],)
        ways: deque[tuple[str, tuple[ServedModel, ...]]] = deque([(source, ())])
        seen = {source}
        while ways:
            here, way = ways.popleft()
            if here == target:
                return way
            for (start, end), model in self._direct.items():
                if start == here and end not in seen:
                    seen.add(end)
                    ways.append((end, (*way, model)))
        return None

    def ways(self) -> dict[tuple[str, str], tuple[ServedModel, ...]]:
        """Return of each two languages between which there is a way the models to go through; of one with itself if a model stays within it."""
        return {
            (source, target): way
            for source in self.sources
            for target in self.targets
            if (way := self.way(source, target))
        }

    def known(self, code: str) -> str:
        """Return the code as the models write it, whatever its case.

        Raises:
            Refusal: no model has it.
        """
        for each in self.every:
            if each.casefold() == code.casefold():
                return each
        raise Refusal(400, f"{code[:40]} is not supported")

    def require_way(self, source: str, target: str) -> tuple[ServedModel, ...]:
        """Do what :meth:`way` does for two known languages.

        Raises:
            Refusal: no way leads from ``source`` to ``target``.
        """
        way = self.way(source, target)
        if way is None:
            raise Refusal(
                400,
                f"{name_of(target)} ({target}) is not available as a target language from "
                f"{name_of(source)} ({source})",
            )
        return way
