"""The words of services and small talk that the readers of the description and of the act share."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

from extractor.words.lists import words

GREETINGS: Final = words("greetings")
POLITE: Final = words("polite")
COMMAND: Final = words("commands")
FUNCTION: Final = words("function_words")
NOISE: Final = GREETINGS | POLITE | COMMAND | FUNCTION | words("house")

# Words of talk: a fragment with one of them and no word of work is not what stands on an invoice.
TALK: Final = words("talk")
TITLES: Final = words("titles")
NOBODY: Final = words("nobody")
WORK_SUFFIX: Final = re.compile(
    r"(?<![a-z])[a-z]{2,}(?:cao|coes|soes|mento|mentos|agem|agens|toria|torias|soria|sorias|grafia|grafias|"
    r"logia|terapia|acupuntura)"
)
NOT_WORK: Final = words("not_work")
WORK_WORDS: Final = words("work")
GREETING_LINE: Final = re.compile(
    r"(?:\W{0,9}+\b(?:oi+e*|ola|alo|opa|e ?ai|eai|bom dia|boa tarde|boa noite|tudo (?:bem|bom|certo|"
    r"joia|tranquilo|em paz|na paz|otimo)(?: (?:por ai|com voce|ai|contigo|ne))?|tem alguem ai|"
    r"alguem ai|(?:voce )?(?:ta|esta) ai|td bem|tudo|blz|beleza|hi|hello|"
    r"hey|good (?:morning|afternoon)|hola|buen[oa]s (?:dias|tardes)|como vai|como (?:voce )?(?:esta|ta)|fala|salve)\b)+"
)
NOISE_MARKS: Final = re.compile(r"k{2,}|(?:ha){2,}h?|(?:he){2,}|(?:rs)+|hu(?:hu)+")


@lru_cache(maxsize=4096)  # the same few hundred words make up most messages
def is_work(word: str) -> bool:
    """Say whether a plain word names work somebody is paid for."""
    return word in WORK_WORDS or (word not in NOT_WORK and WORK_SUFFIX.fullmatch(word) is not None)
