"""Names of languages: the two letters of ISO 639-1 for the codes of three letters and the regions that corpora are called by."""

__all__ = ["two_letters"]

_TWO_LETTERS = {
    "arb": "ar", "ara": "ar", "ces": "cs", "cze": "cs", "deu": "de", "ger": "de", "eng": "en", "fra": "fr", "fre": "fr",
    "hin": "hi", "jpn": "ja", "kor": "ko", "npi": "ne", "nep": "ne", "ron": "ro", "rum": "ro", "rus": "ru", "swh": "sw",
    "swa": "sw", "tha": "th", "vie": "vi", "yor": "yo", "zho": "zh", "chi": "zh", "spa": "es", "ita": "it", "por": "pt",
    "nld": "nl", "dut": "nl", "pol": "pl", "tur": "tr", "ukr": "uk", "fin": "fi", "swe": "sv", "dan": "da", "ell": "el",
    "heb": "he", "hun": "hu", "bul": "bg", "cmn": "zh", "est": "et", "lit": "lt", "lav": "lv", "aze": "az", "azj": "az",
    "ltz": "lb", "lao": "lo", "khm": "km", "mya": "my", "bur": "my", "bod": "bo", "tib": "bo",
}  # fmt: skip # codespell:ignore


def two_letters(code: str) -> str:
    """Return the two letters of a code (``deu_Latn``, ``de-AT``); one that has none here stays, in small letters and without its region."""
    plain = code.replace("_", "-").split("-")[0].lower()
    return _TWO_LETTERS.get(plain, plain)
