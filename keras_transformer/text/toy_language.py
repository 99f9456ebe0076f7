"""A little English with a known Spanish translation, for demonstrations."""

import random

# English singular, English plural, Spanish singular, Spanish plural, feminine
NOUNS = (
    ("dog", "dogs", "perro", "perros", False),
    ("cat", "cats", "gato", "gatos", False),
    ("boy", "boys", "niño", "niños", False),
    ("girl", "girls", "niña", "niñas", True),
    ("house", "houses", "casa", "casas", True),
    ("book", "books", "libro", "libros", False),
    ("table", "tables", "mesa", "mesas", True),
    ("car", "cars", "coche", "coches", False),
    ("flower", "flowers", "flor", "flores", True),
    ("bird", "birds", "pájaro", "pájaros", False),
    ("cow", "cows", "vaca", "vacas", True),
    ("bridge", "bridges", "puente", "puentes", False),
)
# English, then Spanish masculine and feminine singular; plurals add -s
ADJECTIVES = {
    "red": ("rojo", "roja"),
    "white": ("blanco", "blanca"),
    "black": ("negro", "negra"),
    "small": ("pequeño", "pequeña"),
    "old": ("viejo", "vieja"),
    "new": ("nuevo", "nueva"),
    "tall": ("alto", "alta"),
    "pretty": ("bonito", "bonita"),
}
# English third person, English base form, Spanish singular, Spanish plural
VERBS = (
    ("sees", "see", "ve", "ven"),
    ("wants", "want", "quiere", "quieren"),
    ("has", "have", "tiene", "tienen"),
    ("knows", "know", "conoce", "conocen"),
    ("paints", "paint", "pinta", "pintan"),
    ("buys", "buy", "compra", "compran"),
    ("finds", "find", "encuentra", "encuentran"),
    ("draws", "draw", "dibuja", "dibujan"),
)
NUMBERS = {"two": "dos", "three": "tres", "four": "cuatro", "five": "cinco"}
ARTICLES = {
    ("a", False): ("un", "una"),
    ("an", False): ("un", "una"),
    ("the", False): ("el", "la"),
    ("the", True): ("los", "las"),
}
NOUN_FORMS = {
    form: (plural, (noun[3] if plural else noun[2]), noun[4])
    for noun in NOUNS
    for plural, form in ((False, noun[0]), (True, noun[1]))
}
VERB_FORMS = {form: verb for verb in VERBS for form in verb[:2]}


def toy_sentence(generator: random.Random) -> str:
    """Draws an English sentence of the toy language.

    Args:
        generator: Source of the draws.

    Returns:
        A sentence such as "The old dog does not see two red houses."
    """
    subject, plural = _noun_phrase(generator)
    third, base, *_ = generator.choice(VERBS)
    if generator.random() < 0.25:
        verb = f"{'do' if plural else 'does'} not {base}"
    else:
        verb = base if plural else third
    sentence = f"{subject} {verb} {_noun_phrase(generator)[0]}."
    return sentence[0].upper() + sentence[1:]


def toy_translate(sentence: str) -> str:
    """Translates a sentence of the toy language.

    Adjectives move behind their noun, articles and adjectives agree with it in
    gender and number, verbs agree with the subject, and "does not see" becomes
    "no ve".

    Args:
        sentence: English as `corpora.toy` gives it.

    Returns:
        The Spanish sentence, the only right answer.

    Raises:
        ValueError: A sentence that the toy language does not have.

    Examples:
        >>> toy_translate("The small girl does not see two red houses.")
        'La niña pequeña no ve dos casas rojas.'
    """
    words = sentence.removesuffix(".").lower().split()
    rest: list[str] = []
    try:
        subject, plural, rest = _translated_noun_phrase(words)
        negated = rest[0] in ("do", "does")
        verb = VERB_FORMS[rest[2] if negated else rest[0]][3 if plural else 2]
        spoken = ["no", verb] if negated else [verb]
        object_, _, rest = _translated_noun_phrase(rest[3 if negated else 1 :])
        translated = [*subject, *spoken, *object_]
    except (KeyError, IndexError):
        translated = []
    if rest or not translated:
        raise ValueError(
            "`sentence` must be English of the toy language, as `corpora.toy` gives "
            f"it. Received: {sentence!r}."
        )
    translation = " ".join(translated) + "."
    return translation[0].upper() + translation[1:]


def _noun_phrase(generator: random.Random) -> tuple[str, bool]:
    plural = generator.random() < 0.5
    words = [generator.choice(["the", *NUMBERS] if plural else ["the", "a"])]
    if generator.random() < 0.6:
        words.append(generator.choice(list(ADJECTIVES)))
    if words == ["a", "old"]:
        words[0] = "an"
    english, english_plural, *_ = generator.choice(NOUNS)
    return " ".join([*words, english_plural if plural else english]), plural


def _translated_noun_phrase(words: list[str]) -> tuple[list[str], bool, list[str]]:
    first, rest = words[0], words[1:]
    adjective = ADJECTIVES[rest.pop(0)] if rest[0] in ADJECTIVES else None
    plural, noun, feminine = NOUN_FORMS[rest.pop(0)]
    if first in NUMBERS and plural:
        phrase = [NUMBERS[first], noun]
    else:
        phrase = [ARTICLES[first, plural][feminine], noun]
    if adjective is not None:
        phrase.append(adjective[feminine] + ("s" if plural else ""))
    return phrase, plural, rest
