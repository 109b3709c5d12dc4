"""Finds the day of the service and the competência in a turn."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import date, timedelta
from typing import Final

from extractor.text.folding import Cued
from extractor.text.marks import Canvas, Kind, Mark
from extractor.words.lists import numbers

MONTHS: Final = numbers("months")
LONG_MONTH: Final = "janeiro|fevereiro|marco|abril|maio|junho|julho|agosto|setembro|outubro|novembro|dezembro"
MONTH_STEMS: Final = "abr ago dez fev jan jul jun mai mar nov out set"
SHORT_MONTH: Final = "jan|fev|mar|abr|mai|jun|jul|ago|set|out|nov|dez"
WEEKDAYS: Final = {"segunda": 0, "terca": 1, "quarta": 2, "quinta": 3, "sexta": 4, "sabado": 5, "domingo": 6}
DUE: Final = re.compile(
    r"\b(?:venc\w*|pag\w+|boleto|prazo|ate|entrega\w* ate|prevista|previsto|a partir d[eo]|desde)\W+(?:\w+\W+){0,3}$"
    r"|\b(?:pix (?:recebid|enviad|realizad|efetuad)\w+|comprovante|extrato|receb\w+ (?:um |o )?pix)\b"  # a receipt's
    r"(?:(?!\b(?:feit|realiz|prest|servic|fiz))[^;\n]){0,60}$"
)
# "emite hoje" and "preciso disso hoje" say when to issue, not when the work was done
ASKING: Final = re.compile(
    r"\b(?:precis\w+|emit\w+|mand\w+|faz|fazer|quero|queria|ainda|pode|consegu\w+|urgente|"
    r"pra|para|agora)\b[^.;\n]{0,40}$"
)
LOOK: Final = 100  # characters before a date in which it is said what it is of
DAY_FIRST: Final = Cued(
    "",
    rf"(?<![\w/.,-])(?:dia )?(\d{{1,2}})[º°]?([/.-])(\d{{1,2}}|{LONG_MONTH}|{SHORT_MONTH})\2(\d{{4}}|\d{{2}})(?![\w/-])"
    r"(?![.,]\d)",
    signs=("/", ".", "-"),
)
INSTALMENT: Final = re.compile(r"\b(?:parcela|parte|etapa|fase|prestacao)\W*$")
ISO: Final = Cued("", r"(?<![\w/-])(\d{4})-(\d{2})-(\d{2})(?![\w-])", signs=("-",))
DAY_MONTH: Final = Cued(
    "",
    rf"(?<![\w/.,-])(dia )?(\d{{1,2}})[º°]?/(\d{{1,2}}|{LONG_MONTH}|{SHORT_MONTH})(?![\w/-])(?![.,]\d)",
    signs=("/",),
)
DAY_OF: Final = Cued(
    MONTH_STEMS,
    rf"\b(?:dia )?(\d{{1,2}}|primeiro)[º°o]? (?:(?:de |do )?(?:mes de )?({LONG_MONTH})|(?:de )({SHORT_MONTH})\b\.?"
    rf"(?! (?:reais|mil))|({SHORT_MONTH})\.?(?= 20\d{{2}}\b))(?: (?:de |do )?(?:ano de )?(20\d{{2}}))?(?!\w)",
)
# A span of days or months: the day of a service is none of its ends.
_YEAR: Final = r"(?:\d{4}|\d{2})"
_DATED: Final = (
    rf"\d{{1,2}}[º°]?(?:/\d{{1,2}}(?:/{_YEAR})?|\.\d{{1,2}}\.{_YEAR}| (?:de |do )?(?:{LONG_MONTH})(?: de \d{{4}})?)"
)
_NAMED: Final = rf"(?:{LONG_MONTH})(?: ?(?:/| de ) ?(?:20)?\d{{2}})?"
SPAN: Final = Cued(
    f"{MONTH_STEMS} dia",
    rf"(?<![\w/.,-])(?:(?:{_DATED}|(?:\d{{1,2}}[º°]?, ?){{0,9}}\d{{1,2}}[º°]?)"
    rf" ?(?:-|a|ate|ao|e|para|pra)(?: o)?(?: dia)? ?{_DATED}|"
    rf"\bdias (?:\d{{1,2}}[º°]?, ?){{0,9}}\d{{1,2}} (?:e|a|ate) \d{{1,2}}|"
    rf"{_NAMED} ?(?:-|a|ate) ?{_NAMED})(?![\w/-])(?![.,]\d)",
    signs=("/", "."),
)
_PART: Final = re.compile(
    rf"\d[º°]?(?:/(\d{{1,2}})(?:/({_YEAR}))?|\.(\d{{1,2}})\.({_YEAR}))|({LONG_MONTH})(?: ?(?:/|de) ?({_YEAR}))?"
)
DAY_ALONE: Final = Cued(
    "dia",
    r"\b(?:no )?dia (\d{1,2}|primeiro)[º°]?(?![\w/$])(?![.,]\d)(?: (?:do mes passado|do mes anterior)"
    r"\b)?(?: deste mes| desse mes)?",
)
AGO: Final = Cued(
    "atr dia sem",
    r"\b(?:ha|faz|a) (\d{1,2}|um|uma|dois|duas|tres|quatro|cinco) (dias?|semanas?)(?: atras)"
    r"?\b|\b(\d{1,2}|um|uma|dois|duas|tres|quatro|cinco) (dias?|semanas?) atras\b",
)
RELATIVE: Final = {"anteontem": 2, "antes de ontem": 2, "ontem": 1, "yesterday": 1, "ayer": 1, "hoje": 0, "today": 0}
RELATIVE_WORD: Final = Cued(
    "ant aye hoj ont tod yes",
    r"\b(?:anteontem|antes de ontem|ontem|yesterday|ayer|hoje|today)\b(?: (?:de manha|a tarde|a noite|cedo))?",
)
WEEKDAY: Final = Cued(
    "dom qua qui sab seg sex ter",
    r"\b(?:n[ao] |d[ao] )?(?:ultim[ao] )?(segunda|terca|quarta|quinta|sexta|sabado|domingo)"
    r"(?:-feira| feira)?(?: passad[ao])?(?![\w-])",
)
SMALL: Final = {"um": 1, "uma": 1, "dois": 2, "duas": 2, "tres": 3, "quatro": 4, "cinco": 5}
COMPETENCIA: Final = r"(?:mes de |mes )?competencia|mes(?: de)? referencia|mes base|period[oa]|referencia"
MONTH_YEAR: Final = Cued("", r"(?<![\w/.,-])(0?[1-9]|1[0-2])[/-](20\d{2})(?![\w/-])", signs=("20",))
YEAR_MONTH: Final = Cued("", r"(?<![\w/.,-])(20\d{2})-(0[1-9]|1[0-2])(?![\w/-])", signs=("20",))
NAMED_MONTH: Final = Cued(
    MONTH_STEMS,
    rf"\b({LONG_MONTH})(?:\s{{0,9}}+(?:de|do|/|-)?\s{{0,9}}+(?:ano de )?(20\d{{2}}|(?<=/)\d{{2}}))?\b|\b({SHORT_MONTH})"
    rf"\s{{0,9}}+[/-]\s{{0,9}}+(20\d{{2}}|\d{{2}})\b|"
    rf"\bem (jan|fev|abr|mai|jun|jul|ago|out|nov|(?:mar|set|dez)(?=\s{{0,9}}(?:[,.;]|$)))\b",
)
LABELLED_MONTH: Final = Cued(
    "com mes per ref",
    rf"\b(?:{COMPETENCIA})\b(?:\s{{1,9}}+(?:eh|de|do|da|mes|=)){{0,6}}[\s:-]{{0,9}}+(?:({SHORT_MONTH})\b|(0?[1-9]|"
    rf"1[0-2])(?:[/-](\d{{2}}))?(?![\w/.,-]))|\bmes (0?[1-9]|1[0-2])(?![\w/.,-])",
)
_IS_MONTH: Final = r"(?: (?:eh|de|do|da|mes|para|pra|foi|=)){0,6}[ :-]{0,9}+"
NO_MONTH: Final = Cued(
    "com mes per ref",
    rf"\b(?:{COMPETENCIA}|mes){_IS_MONTH}((?:00|1[3-9]|[2-9]\d)[/-]20\d\d)(?![\w/-]|[.,]\d)",
    rf"\bcompetencia{_IS_MONTH}(00|1[3-9]|[2-9]\d)(?![\w/-]|[.,]\d| ?(?:reais|h|horas?|%))",
)
RELATIVE_MONTH: Final = Cued(
    "com las mes",
    r"\b(?:mes|competencia)(?: d[eo] mes)? (passado|anterior|retrasado|atual|corrente|que vem|"
    r"seguinte)\b|\b(este|esse|deste|desse|neste|nesse|ultimo|proximo) mes\b|\blast month\b",
)
SHIFT: Final = {"passado": -1, "anterior": -1, "retrasado": -2, "que vem": 1, "seguinte": 1, "ultimo": -1, "proximo": 1}
DATED: Final = re.compile(
    r"(?:^|[,;:(\n-]|\b(?:dia|dias|em|no|na|data|de|do|desde|ate|feit[a-z]{1,4}|realizad[a-z]{1,3}|prestad[a-z]{1,3}))"
    r"[ \t]{0,9}+$"
)
NOT_A_MONTH: Final = "00"  # what "competência 13/2026" names
NEAR_DAYS: Final = 62  # so far back a day is said without its year, and with nothing before it
PARTS_OF_A_WHOLE: Final = frozenset({2, 4, 8})  # of an inch, of a bar of music
LONG_AGO: Final = 10  # years: "período 10/10" is no October of 2010
DAYS_AHEAD: Final = 31  # "15/12" said in November is next month's, not last year's
MONTHS_AHEAD: Final = 2  # "mensalidade de dezembro" said in November is billed ahead


def mark_dates(canvas: Canvas, hoje: date) -> None:
    """Mark days (value "AAAA-MM-DD") and months ("AAAA-MM"); an empty value is a deadline, or no calendar day."""
    for match in canvas.unread(SPAN):
        canvas.add(Mark(Kind.MONTH, *match.span(), value=_month_of(match, hoje)))
    _each(canvas, hoje, DAY_FIRST, lambda m: _day(_year(m[4]), _month(m[3]), int(m[1])))
    _each(canvas, hoje, ISO, lambda m: _day(int(m[1]), int(m[2]), int(m[3])))
    _each(canvas, hoje, DAY_OF, lambda m: _day_of(m, hoje))
    for pattern, month_first in ((MONTH_YEAR, True), (YEAR_MONTH, False)):
        for match in canvas.unread(pattern):
            month, year = (match[1], match[2]) if month_first else (match[2], match[1])
            canvas.add(Mark(Kind.MONTH, *match.span(), value=month_near(int(month), year, hoje)))
    for match in canvas.unread(LABELLED_MONTH):
        number = MONTHS.get(match[1] or "") or int(match[2] or match[4])
        year = f"20{match[3]}" if match[3] else None
        canvas.add(Mark(Kind.MONTH, *match.span(), value=month_near(number, year, hoje)))
    for match in canvas.unread(NO_MONTH):
        canvas.add(Mark(Kind.MONTH, *match.span(match.lastindex or 0), value=NOT_A_MONTH))
    _each(canvas, hoje, DAY_MONTH, lambda m: _near(hoje, _month(m[3]), int(m[2])))
    _each(canvas, hoje, DAY_ALONE, lambda m: _day_alone(m, hoje))
    _each(canvas, hoje, AGO, lambda m: _ago(m, hoje))
    _each(
        canvas,
        hoje,
        RELATIVE_WORD,
        lambda m: hoje - timedelta(days=next(d for w, d in RELATIVE.items() if m[0].startswith(w))),
    )
    _each(canvas, hoje, WEEKDAY, lambda m: _last_weekday(m, hoje))
    for match in canvas.unread(NAMED_MONTH):
        year = match[2] or match[4]
        name = match[1] or match[3] or match[5]
        canvas.add(Mark(Kind.MONTH, *match.span(), value=month_near(MONTHS[name], year, hoje)))
    for match in canvas.unread(RELATIVE_MONTH):
        shift = next((s for w, s in SHIFT.items() if w in match[0]), -1 if "last" in match[0] else 0)
        months = hoje.year * 12 + hoje.month - 1 + shift
        canvas.add(Mark(Kind.MONTH, *match.span(), value=f"{months // 12}-{months % 12 + 1:02}"))


def month_near(month: int, year: str | None, hoje: date) -> str:
    """Return "AAAA-MM": the year as said, or the one that puts the month closest behind ``hoje``, or just ahead.

    Empty for a year beyond the next one, or long past.
    """
    if year:
        return f"{_year(year)}-{month:02}" if -LONG_AGO < _year(year) - hoje.year <= 1 else ""
    ahead = (month - hoje.month) % 12
    resolved = hoje.year + (month < hoje.month) if ahead <= MONTHS_AHEAD else hoje.year - (month > hoje.month)
    return f"{resolved}-{month:02}"


def _each(canvas: Canvas, hoje: date, pattern: Cued, resolve: Callable[[re.Match[str]], date | None]) -> None:
    for match in canvas.unread(pattern):
        day = resolve(match)
        before = canvas.masked[max(0, match.start() - LOOK) : match.start()]
        if day is None and pattern in (DAY_FIRST, DAY_MONTH, DAY_ALONE):
            continue  # "25/13" is no day; let another reader have it
        if pattern is DAY_MONTH and INSTALMENT.search(before):
            continue
        if pattern is DAY_MONTH and _is_fraction(match, before, day, hoje):
            canvas.add(Mark(Kind.IDENTIFIER, *match.span()))
            continue
        if day is None and pattern is WEEKDAY:
            continue
        issued = pattern is RELATIVE_WORD and ("hoje" in match[0] or "today" in match[0]) and ASKING.search(before)
        far = day is not None and day.year > hoje.year + 1
        value = "" if day is None or far or DUE.search(before) or issued else day.isoformat()
        canvas.add(Mark(Kind.DAY, *match.span(), value=value))


def _year(text: str) -> int:
    return int(text) if len(text) > 2 else 2000 + int(text)  # noqa: PLR2004 - two digits are of this century


def _day(year: int, month: int, day: int) -> date | None:
    try:
        return date(year, month, day)
    except ValueError:
        return None


def _near(hoje: date, month: int, day: int) -> date | None:
    candidates = [d for y in (hoje.year - 1, hoje.year, hoje.year + 1) if (d := _day(y, month, day)) is not None]
    past = [d for d in candidates if d <= hoje + timedelta(days=DAYS_AHEAD)]
    return max(past, default=None)


def _month(text: str) -> int:
    return MONTHS.get(text) or int(text)


def _month_of(match: re.Match[str], hoje: date) -> str:
    """Return the month in which a span lies or has ended, "" where that is yet to come, or no month."""
    parts = [(m[1] or m[3] or m[5], m[2] or m[4] or m[6]) for m in _PART.finditer(match[0])]
    if not parts:
        return ""  # "dias 3, 5 e 7"
    month, year = _month(parts[-1][0]), parts[-1][1]
    if not 0 < month <= MONTHS["dezembro"]:
        return ""
    last = month_near(month, year, hoje)
    return last if last <= f"{hoje:%Y-%m}" or {_month(each) for each, _ in parts} == {month} else ""


def _is_fraction(match: re.Match[str], before: str, day: date | None, hoje: date) -> bool:
    """Say whether "3/4" is of the service ("registro 3/4", "sessão 3/5") rather than a day that nothing announces."""
    written = (
        match[2].startswith("0")
        or match[3].startswith("0")
        or not match[3].isdecimal()
        or int(match[2]) > MONTHS["dezembro"]
    )
    if match[1] or written or "º" in match[0] or DATED.search(before):
        return False
    near = day is not None and abs((hoje - day).days) <= NEAR_DAYS
    return not near or (int(match[2]) < int(match[3]) and int(match[3]) in PARTS_OF_A_WHOLE)


def _day_of(match: re.Match[str], hoje: date) -> date | None:
    day = 1 if match[1] == "primeiro" else int(match[1])
    month = MONTHS[match[2] or match[3] or match[4]]
    return _day(int(match[5]), month, day) if match[5] else _near(hoje, month, day)


def _day_alone(match: re.Match[str], hoje: date) -> date | None:
    day = 1 if match[1] == "primeiro" else int(match[1])
    last_month = hoje.replace(day=1) - timedelta(days=1)
    if "passado" in match[0] or "anterior" in match[0] or day > hoje.day:
        return _day(last_month.year, last_month.month, day)
    return _day(hoje.year, hoje.month, day)


def _ago(match: re.Match[str], hoje: date) -> date:
    amount, unit = match[1] or match[3], match[2] or match[4]
    count = SMALL.get(amount) or int(amount)
    return hoje - timedelta(days=count * (7 if unit.startswith("semana") else 1))


def _last_weekday(match: re.Match[str], hoje: date) -> date | None:
    # "sexta" alone names a weekday, "quarta aula" counts: only "na sexta", "sexta-feira" and "sexta passada" are days
    if not re.search(r"feira|passad|ultim|^n[ao] ", match[0]):
        return None
    back = (hoje.weekday() - WEEKDAYS[match[1]]) % 7 or 7
    return hoje - timedelta(days=back)
