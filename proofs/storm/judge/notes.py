"""Compares every field of every note in the authority's ledger with what its person saw and had planned to say."""

from __future__ import annotations

from calendar import monthrange
from dataclasses import dataclass
from datetime import date, timedelta, timezone
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from proofs.sandbox.cnpj_register import companies
from proofs.storm.judge.books import Key
from proofs.storm.judge.confirmations import CUT

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from datetime import datetime

    from proofs.storm.crowd import Issuer, Wish
    from proofs.storm.judge.books import Book
    from proofs.storm.judge.confirmations import Phones, Seen, Summary

BRASILIA = timezone(timedelta(hours=-3))  # no daylight saving since 2019
SIMPLES = {"normal": 1, "mei": 2, "simples": 3}  # DPS layout 1.01, TSOpSimpNac
ABSENT = "ausente"


@dataclass(frozen=True, slots=True)
class Note:
    """A note in the authority's book: ``settled`` when it got its number, ``refused`` is why it never will.

    ``asked`` are the moments at which its cancellation was asked for.
    """

    key: Key
    id: str
    at: datetime
    payload: Mapping[str, Any]
    numero: str = ""
    chave: str = ""
    autorizacao: str = ""
    settled: datetime | None = None
    refused: str = ""
    asked: tuple[datetime, ...] = ()
    cancelled: bool = False

    @property
    def reference(self) -> str:
        """Our reference at the gateway."""
        return str(self.payload.get("idIntegracao") or "")

    @property
    def valor(self) -> Decimal:
        """BRL, as the JSON number says; not a number where it is none."""
        value = self.payload["servico"][0]["valor"]["servico"]
        return Decimal(str(value)) if isinstance(value, int | float) else Decimal("NaN")

    @property
    def tomador(self) -> str:
        """The customer's document, bare."""
        return str((self.payload.get("tomador") or {}).get("cpfCnpj", ""))

    @property
    def prestador(self) -> str:
        """The issuer's document, bare."""
        return str(self.payload["prestador"]["cpfCnpj"])


def notes_of(gateway: Book) -> list[Note]:
    """Return all notes in the gateway's book, oldest first; the key is read from our reference."""
    found: dict[str, dict[str, Any]] = {}
    for record in gateway.of("note.created", "note.settled", "cancel.asked", "cancel.settled"):
        data = record.data
        note = found.setdefault(data["id"], {"asked": ()})
        if record.kind == "note.created":
            key = bound_to(str(data["payload"].get("idIntegracao")))
            note |= {"key": key, "at": record.at, "payload": data["payload"]}
        elif record.kind == "cancel.asked":
            note["asked"] += (record.at,)
        elif record.kind == "cancel.settled":
            note["cancelled"] = not data["refused"]
        elif data.get("numero"):
            names = ("numero", "chave", "autorizacao")
            note |= {"settled": record.at, **{name: str(data.get(name) or "") for name in names}}
        else:
            note["refused"] = str(data.get("mensagem") or data.get("situacao") or "recusada")
    return [Note(id=note_id, **facts) for note_id, facts in found.items() if "payload" in facts]


def bound_to(id_integracao: str) -> Key:
    """Read ``{sessao_id}-r{revisao}-{tentativa}``; what has another shape is nobody's confirmation."""
    base, _, _tentativa = id_integracao.rpartition("-")
    sessao_id, _, revisao = base.rpartition("-r")
    return Key(sessao_id, int(revisao)) if revisao.isdigit() else Key(id_integracao, -1)


def owner(note: Note, phones: Phones, wishes: Mapping[str, Wish]) -> str:
    """Return whose wish a note is: of the phone that showed its session, else of whoever wants that amount; or ""."""
    who = phones.owners.get(note.key.sessao_id)
    return who or next((wish.who for wish in wishes.values() if note.valor in {wish.valor, wish.antes}), "")


def wrong_notes(notes: Iterable[Note], phones: Phones, wishes: Mapping[str, Wish]) -> tuple[list[str], int]:
    """Return what is wrong with the notes of confirmed revisions, and how many fields were compared."""
    wrong: list[str] = []
    compared = 0
    confirmed, shown = phones.confirmed, phones.shown
    for note in notes:
        yes = confirmed.get(note.key)
        wish = wishes.get(yes.who) if yes else None
        if yes is None or wish is None:
            continue  # the judge names it as unconfirmed
        before = [summary for summary in shown[note.key] if summary.at <= yes.at]
        complaints, count = _compare(note, wish, before)
        compared += count
        wrong += [f"{wish.who} {note.key}: {complaint}" for complaint in complaints]
    return wrong + list(_numbers_twice(notes)), compared


def _compare(note: Note, wish: Wish, summaries: list[Summary]) -> tuple[list[str], int]:
    summary = summaries[-1]
    seen = summary.seen
    if seen is None:
        return ["o resumo não pode ser lido"], 0
    complaints = ["o resumo veio com dois conteúdos"] if any(other.seen != seen for other in summaries) else []
    customer = wish.recusado if note.refused and wish.recusado else wish.tomador
    complaints += [
        f"o resumo diz {name} {quoted(shown)}, e não {quoted(said)}"
        for name, shown, said in _said(wish, seen, customer)
    ]
    sent, due = dict(_flat(note.payload)), expected(wish, seen, customer)
    due |= {"idIntegracao": note.reference, "rps.competencia": sent.get("rps.competencia", ABSENT)}
    due |= _address(sent, seen, customer)
    complaints += list(_competence(str(due["rps.competencia"]), seen, summary))
    if wish.emitente.serie_rps:
        complaints += list(_rps(sent, wish.emitente))
        due["rps.numero"] = sent.get("rps.numero", ABSENT)
    for path in sorted(due.keys() | sent.keys()):
        has, needs = sent.get(path, ABSENT), due.get(path, ABSENT)
        if _plain(has) != _plain(needs):
            complaints.append(f"{path} é {quoted(has)}, e não {quoted(needs)}")
    return complaints, len(due.keys() | sent.keys())


def expected(wish: Wish, seen: Seen, customer: str) -> dict[str, Any]:
    """Return every field of the note by its path, but reference, competence, RPS number and address."""
    issuer = wish.emitente
    simples = issuer.regime == "simples"
    due: dict[str, Any] = {
        "padrao": "NACIONAL",
        "enviarEmail": False,
        "emitente.tipo": 1,
        "emitente.codigoCidade": issuer.municipio,
        "emitente.inscricaoMunicipal": issuer.inscricao_municipal,
        "prestador.cpfCnpj": issuer.cnpj,
        "prestador.inscricaoMunicipal": issuer.inscricao_municipal,
        "prestador.opSimpNac": SIMPLES[issuer.regime],
        "prestador.regEspTrib": 0,
        "prestador.regApTribSN": 1 if simples else None,
        "regimeApuracaoTributaria": 1 if simples else None,
        "tomador.cpfCnpj": customer,
        "tomador.razaoSocial": companies()[customer]["razao_social"] if seen.nome else None,
        "tomador.email": wish.email,
        "servico.0.codigo": issuer.codigo_servico,
        "servico.0.discriminacao": wish.servico,
        "servico.0.valor.servico": wish.valor,
        "servico.0.cnae": issuer.cnae,
        "servico.0.iss.aliquota": Decimal(issuer.aliquota) if issuer.aliquota else None,
        "rps.serie": issuer.serie_rps,
    }
    return {path: value for path, value in due.items() if value is not None}


def _said(wish: Wish, seen: Seen, customer: str) -> Iterator[tuple[str, object, object]]:
    """Yield (field, as shown, as planned) where the summary does not say what its person had said."""
    name = companies()[customer]["razao_social"]
    if seen.nome and not (seen.nome == name or (seen.nome.endswith(CUT) and name.startswith(seen.nome[:-1]))):
        yield "Cliente", seen.nome, name
    pairs = {
        "CNPJ": (seen.documento, customer),
        "Valor": (seen.valor, wish.valor),
        "Serviço": (seen.servico, wish.servico),
        "Emitente": (seen.emitente, wish.emitente.razao_social),
        "E-mail": (seen.email, wish.email),
        "Competência": (seen.competencia, wish.competencia),
        "Data do serviço": (seen.data, wish.data),
    }
    yield from ((field, shown, said) for field, (shown, said) in pairs.items() if shown != said)


def _competence(sent: str, seen: Seen, summary: Summary) -> Iterator[str]:
    """The day on the summary, else the last of its month so far, else the day on which it was made and shown."""
    shown_on = summary.at.astimezone(BRASILIA).date()
    if seen.data:
        day, month, year = map(int, seen.data.split("/"))
        first = last = date(year, month, day)
    elif seen.competencia:
        month, year = map(int, seen.competencia.split("/"))
        begins = date(year, month, 1)
        ends = date(year, month, monthrange(year, month)[1])
        first = last = min(ends, shown_on) if begins <= shown_on else begins
    else:
        first, last = summary.asked_at.astimezone(BRASILIA).date(), shown_on
    try:
        fits = first <= date.fromisoformat(sent) <= last
    except ValueError:
        fits = False
    if not fits:
        yield f"rps.competencia é {quoted(sent)}, e não {last.isoformat()!r}"


def _address(sent: Mapping[str, Any], seen: Seen, customer: str) -> dict[str, Any]:
    """Return the register's address; none for a customer without a name whose note has none: nobody answered."""
    row = companies()[customer]
    street = f"{row['descricao_tipo_de_logradouro']} {row['logradouro']}".strip()
    address = {
        "logradouro": street,
        "numero": row["numero"],
        "bairro": row["bairro"],
        "codigoCidade": str(row["codigo_municipio_ibge"]),
        "descricaoCidade": row["municipio"],
        "estado": row["uf"],
        "cep": row["cep"],
        "complemento": row["complemento"],
    }
    if not seen.nome and not any(path.startswith("tomador.endereco") for path in sent):
        return {}
    return {f"tomador.endereco.{name}": value for name, value in address.items() if value}


def _rps(sent: Mapping[str, Any], issuer: Issuer) -> Iterator[str]:
    numero = sent.get("rps.numero")
    if not isinstance(numero, int) or numero < (issuer.primeiro_rps or 1):
        yield f"rps.numero é {quoted(numero)}, abaixo do primeiro da série {issuer.serie_rps}"


def _numbers_twice(notes: Iterable[Note]) -> Iterator[str]:
    """One RPS number under two confirmations; another attempt of the same one keeps its number."""
    given: dict[tuple[str, str, int], Key] = {}
    for note in notes:
        rps = note.payload.get("rps") or {}
        if rps.get("numero") is not None:
            number = (note.prestador, str(rps.get("serie")), int(rps["numero"]))
            if given.setdefault(number, note.key) != note.key:
                yield f"{note.key}: o RPS {number[1]}/{number[2]} de {number[0]} é o de {given[number]}"


def quoted(value: object) -> str:
    """Return a value as the judge's lines show it; text in quotes, so that a number as text is seen."""
    match value:
        case None:
            return "nulo"
        case bool():
            return "verdadeiro" if value else "falso"
        case str() if value != ABSENT:
            return repr(value)
        case _:
            return str(value)


def _flat(value: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Yield (path, value) of every leaf of a JSON value."""
    if isinstance(value, dict | list):
        pairs = value.items() if isinstance(value, dict) else enumerate(value)
        for name, inner in pairs:
            yield from _flat(inner, f"{path}.{name}" if path else str(name))
    else:
        yield path, value


def _plain(value: Any) -> Any:
    """Return a number as the exact decimal that its shortest text says; a truth value is no number."""
    return Decimal(str(value)) if isinstance(value, int | float) and not isinstance(value, bool) else value
