"""The words of the demo grammar, Romanian and English, in tables that a speaker can read and correct.

Spelling follows the current norm: ``ș`` and ``ț`` with a comma below, ``â`` inside and ``î`` at the edges of
words. Words are chosen so that each form has one meaning here; where standard Romanian has two (``noi`` is
both "we" and "new"), the sentence around it decides.
"""

from dataclasses import dataclass
from typing import Literal

__all__ = [
    "ADJECTIVES",
    "CLITICS",
    "DATIVES",
    "LIKE",
    "NOUNS",
    "POSSESSIVES",
    "TIMES",
    "VERBS",
    "Adjective",
    "Kind",
    "Noun",
    "Possessive",
    "Tense",
    "Verb",
]

Kind = Literal["human", "animal", "text", "food", "thing", "place"]
Tense = Literal["present", "past", "future"]


@dataclass(frozen=True, slots=True)
class Noun:
    """A noun: băiat, băiatul, băieți, băieții, băiatului, băieților; boy, boys.

    A neuter noun (``n``) agrees like a masculine one in the singular and like a feminine one in the plural.
    """

    bare: str
    definite: str
    plural: str
    definite_plural: str
    gender: Literal["m", "f", "n"]
    kind: Kind
    english: str
    english_plural: str
    genitive: str = ""
    genitive_plural: str = ""
    owned: bool = True
    """Whether it goes with a possessive: my neighbour, but hardly my lady."""


@dataclass(frozen=True, slots=True)
class Adjective:
    """An adjective: înalt, înaltă, înalți, înalte; tall, taller; and the kinds of noun it goes with."""

    masculine: str
    feminine: str
    masculine_plural: str
    feminine_plural: str
    english: str
    comparative: str | None
    kinds: frozenset[Kind]


@dataclass(frozen=True, slots=True)
class Verb:
    """A verb: văd, vezi, vede, vedem, vedeți, văd; a văzut; a vedea; see, sees, saw.

    ``particle`` is the English word before the object (wait *for*). ``objects`` is empty for an intransitive
    verb.
    """

    present: tuple[str, str, str, str, str, str]
    participle: str
    infinitive: str
    english: str
    third: str
    past: str
    particle: str
    subjects: frozenset[Kind]
    objects: frozenset[Kind]


@dataclass(frozen=True, slots=True)
class Possessive:
    """A possessive: meu, mea, mei, mele; my."""

    masculine: str
    feminine: str
    masculine_plural: str
    feminine_plural: str
    english: str


_HUMAN: frozenset[Kind] = frozenset({"human"})
_ALIVE: frozenset[Kind] = frozenset({"human", "animal"})
_GOODS: frozenset[Kind] = frozenset({"text", "food", "thing"})
_LIFELESS: frozenset[Kind] = _GOODS | {"place"}
_WARES: frozenset[Kind] = _GOODS | {"animal"}
_FINDABLE: frozenset[Kind] = _ALIVE | _GOODS
_ALL: frozenset[Kind] = _ALIVE | _LIFELESS
_NONE: frozenset[Kind] = frozenset()

# fmt: off
NOUNS: tuple[Noun, ...] = (
    Noun("băiat", "băiatul", "băieți", "băieții", "m", "human", "boy", "boys", "băiatului", "băieților"),
    Noun("bărbat", "bărbatul", "bărbați", "bărbații", "m", "human", "man", "men", "bărbatului", "bărbaților",
         owned=False),
    Noun("copil", "copilul", "copii", "copiii", "m", "human", "child", "children", "copilului", "copiilor"),
    Noun("profesor", "profesorul", "profesori", "profesorii", "m", "human", "teacher", "teachers",
         "profesorului", "profesorilor"),
    Noun("pictor", "pictorul", "pictori", "pictorii", "m", "human", "painter", "painters", "pictorului", "pictorilor"),
    Noun("fată", "fata", "fete", "fetele", "f", "human", "girl", "girls", "fetei", "fetelor"),
    Noun("femeie", "femeia", "femei", "femeile", "f", "human", "woman", "women", "femeii", "femeilor", owned=False),
    Noun("vecină", "vecina", "vecine", "vecinele", "f", "human", "neighbour", "neighbours", "vecinei", "vecinelor"),
    Noun("doamnă", "doamna", "doamne", "doamnele", "f", "human", "lady", "ladies", "doamnei", "doamnelor", owned=False),
    Noun("actriță", "actrița", "actrițe", "actrițele", "f", "human", "actress", "actresses",
         "actriței", "actrițelor", owned=False),
    Noun("câine", "câinele", "câini", "câinii", "m", "animal", "dog", "dogs"),
    Noun("cal", "calul", "cai", "caii", "m", "animal", "horse", "horses"),
    Noun("pisică", "pisica", "pisici", "pisicile", "f", "animal", "cat", "cats"),
    Noun("pasăre", "pasărea", "păsări", "păsările", "f", "animal", "bird", "birds"),
    Noun("carte", "cartea", "cărți", "cărțile", "f", "text", "book", "books"),
    Noun("scrisoare", "scrisoarea", "scrisori", "scrisorile", "f", "text", "letter", "letters"),
    Noun("ziar", "ziarul", "ziare", "ziarele", "n", "text", "newspaper", "newspapers"),
    Noun("măr", "mărul", "mere", "merele", "n", "food", "apple", "apples"),
    Noun("prăjitură", "prăjitura", "prăjituri", "prăjiturile", "f", "food", "cake", "cakes"),
    Noun("casă", "casa", "case", "casele", "f", "thing", "house", "houses"),
    Noun("mașină", "mașina", "mașini", "mașinile", "f", "thing", "car", "cars"),
    Noun("rochie", "rochia", "rochii", "rochiile", "f", "thing", "dress", "dresses"),
    Noun("scaun", "scaunul", "scaune", "scaunele", "n", "thing", "chair", "chairs"),
    Noun("tablou", "tabloul", "tablouri", "tablourile", "n", "thing", "painting", "paintings"),
    Noun("pantof", "pantoful", "pantofi", "pantofii", "m", "thing", "shoe", "shoes"),
    Noun("copac", "copacul", "copaci", "copacii", "m", "thing", "tree", "trees"),
    Noun("parc", "parcul", "parcuri", "parcurile", "n", "place", "park", "parks"),
    Noun("oraș", "orașul", "orașe", "orașele", "n", "place", "city", "cities"),
    Noun("sat", "satul", "sate", "satele", "n", "place", "village", "villages"),
    Noun("grădină", "grădina", "grădini", "grădinile", "f", "place", "garden", "gardens"),
    Noun("pădure", "pădurea", "păduri", "pădurile", "f", "place", "forest", "forests"),
)

ADJECTIVES: tuple[Adjective, ...] = (
    Adjective("mare", "mare", "mari", "mari", "big", "bigger", _ALL - _HUMAN),
    Adjective("mic", "mică", "mici", "mici", "small", "smaller", _ALL - _HUMAN),
    Adjective("frumos", "frumoasă", "frumoși", "frumoase", "beautiful", "more beautiful", _ALL),
    Adjective("nou", "nouă", "noi", "noi", "new", "newer", _LIFELESS),
    Adjective("vechi", "veche", "vechi", "vechi", "old", "older", _LIFELESS),
    Adjective("scump", "scumpă", "scumpi", "scumpe", "expensive", "more expensive", _GOODS),
    Adjective("ieftin", "ieftină", "ieftini", "ieftine", "cheap", "cheaper", _GOODS),
    Adjective("alb", "albă", "albi", "albe", "white", None, _WARES),
    Adjective("negru", "neagră", "negri", "negre", "black", None, _WARES),
    Adjective("roșu", "roșie", "roșii", "roșii", "red", None, _GOODS),
    Adjective("bătrân", "bătrână", "bătrâni", "bătrâne", "old", "older", _ALIVE),
    Adjective("tânăr", "tânără", "tineri", "tinere", "young", "younger", _ALIVE),
    Adjective("leneș", "leneșă", "leneși", "leneșe", "lazy", "lazier", _ALIVE),
    Adjective("deștept", "deșteaptă", "deștepți", "deștepte", "clever", "cleverer", _ALIVE),
    Adjective("vesel", "veselă", "veseli", "vesele", "cheerful", "more cheerful", _ALIVE),
    Adjective("trist", "tristă", "triști", "triste", "sad", "sadder", _ALIVE),
    Adjective("înalt", "înaltă", "înalți", "înalte", "tall", "taller", _HUMAN),
)

VERBS: tuple[Verb, ...] = (
    Verb(("văd", "vezi", "vede", "vedem", "vedeți", "văd"), "văzut", "vedea",
         "see", "sees", "saw", "", _ALIVE, _ALL),
    Verb(("găsesc", "găsești", "găsește", "găsim", "găsiți", "găsesc"), "găsit", "găsi",
         "find", "finds", "found", "", _ALIVE, _FINDABLE),
    Verb(("caut", "cauți", "caută", "căutăm", "căutați", "caută"), "căutat", "căuta",
         "look", "looks", "looked", "for", _ALIVE, _FINDABLE),
    Verb(("desenez", "desenezi", "desenează", "desenăm", "desenați", "desenează"), "desenat", "desena",
         "draw", "draws", "drew", "", _HUMAN, _ALL),
    Verb(("iubesc", "iubești", "iubește", "iubim", "iubiți", "iubesc"), "iubit", "iubi",
         "love", "loves", "loved", "", _HUMAN, _ALIVE),
    Verb(("ajut", "ajuți", "ajută", "ajutăm", "ajutați", "ajută"), "ajutat", "ajuta",
         "help", "helps", "helped", "", _HUMAN, _HUMAN),
    Verb(("aștept", "aștepți", "așteaptă", "așteptăm", "așteptați", "așteaptă"), "așteptat", "aștepta",
         "wait", "waits", "waited", "for", _HUMAN, _HUMAN),
    Verb(("cumpăr", "cumperi", "cumpără", "cumpărăm", "cumpărați", "cumpără"), "cumpărat", "cumpăra",
         "buy", "buys", "bought", "", _HUMAN, _WARES),
    Verb(("vând", "vinzi", "vinde", "vindem", "vindeți", "vând"), "vândut", "vinde",
         "sell", "sells", "sold", "", _HUMAN, _WARES),
    Verb(("citesc", "citești", "citește", "citim", "citiți", "citesc"), "citit", "citi",
         "read", "reads", "read", "", _HUMAN, frozenset({"text"})),
    Verb(("mănânc", "mănânci", "mănâncă", "mâncăm", "mâncați", "mănâncă"), "mâncat", "mânca",
         "eat", "eats", "ate", "", _ALIVE, frozenset({"food"})),
    Verb(("dorm", "dormi", "doarme", "dormim", "dormiți", "dorm"), "dormit", "dormi",
         "sleep", "sleeps", "slept", "", _ALIVE, _NONE),
    Verb(("alerg", "alergi", "aleargă", "alergăm", "alergați", "aleargă"), "alergat", "alerga",
         "run", "runs", "ran", "", _ALIVE, _NONE),
    Verb(("cânt", "cânți", "cântă", "cântăm", "cântați", "cântă"), "cântat", "cânta",
         "sing", "sings", "sang", "", _HUMAN, _NONE),
    Verb(("lucrez", "lucrezi", "lucrează", "lucrăm", "lucrați", "lucrează"), "lucrat", "lucra",
         "work", "works", "worked", "", _HUMAN, _NONE),
)

# What is liked is the subject in Romanian, and who likes it stands in the dative: "Îmi place casa."
LIKE = Verb(("", "", "place", "", "", "plac"), "plăcut", "plăcea",
            "like", "likes", "liked", "", _HUMAN, _ALL)

POSSESSIVES: tuple[Possessive, ...] = (
    Possessive("meu", "mea", "mei", "mele", "my"),
    Possessive("tău", "ta", "tăi", "tale", "your"),
    Possessive("lui", "lui", "lui", "lui", "his"),
    Possessive("ei", "ei", "ei", "ei", "her"),
    Possessive("nostru", "noastră", "noștri", "noastre", "our"),
    Possessive("vostru", "voastră", "voștri", "voastre", "your"),
)

# Object pronoun before the verb -> the form joined to the auxiliary of the past (îl, l-am); "o" follows
# the participle instead (am văzut-o).
CLITICS: dict[str, str] = {
    "mă": "m", "te": "te", "îl": "l", "o": "", "ne": "ne", "vă": "v", "îi": "i", "le": "le",
    "îmi": "mi", "îți": "ți",
}

# Who likes: dative pronoun of the first and second persons, by person (0 to 5: I, you, he, we, you, they).
DATIVES: dict[int, str] = {0: "îmi", 1: "îți", 3: "ne", 4: "vă"}

TIMES: dict[Tense, tuple[tuple[str, str], ...]] = {
    "present": (("azi", "today"), ("în fiecare zi", "every day")),
    "past": (("ieri", "yesterday"), ("aseară", "last night")),
    "future": (("mâine", "tomorrow"),),
}
# fmt: on
