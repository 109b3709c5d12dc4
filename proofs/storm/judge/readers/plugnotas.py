"""Reads the gateway's book: notes as JSON orders, told by webhooks."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING, Any

from proofs.sandbox.cnpj_register import companies
from proofs.storm.judge.note import Note, Reader, bound_to, printed, punctuated

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from proofs.storm.crowd import Wish
    from proofs.storm.judge.books import Book, House
    from proofs.storm.judge.confirmations import Summary

SIMPLES = {"normal": 1, "mei": 2, "simples": 3}  # DPS layout 1.01, TSOpSimpNac
COMPETENCE = "rps.competencia"


def notes_of(gateway: Book, _house: House) -> list[Note]:
    """Return all notes in the gateway's book, oldest first; the key is read from our reference."""
    found: dict[str, dict[str, Any]] = {}
    for record in gateway.of("note.created", "note.settled", "cancel.asked", "cancel.settled"):
        data = record.data
        note = found.setdefault(data["id"], {"asked": ()})
        if record.kind == "note.created":
            note |= {"at": record.at, **_ordered(data["payload"])}
        elif record.kind == "cancel.asked":
            note["asked"] += (record.at,)
        elif record.kind == "cancel.settled":
            note["cancelled"] = not data["refused"]
        elif data.get("numero"):
            names = ("numero", "chave", "autorizacao")
            note |= {"settled": record.at, **{name: str(data.get(name) or "") for name in names}}
        else:
            note["refused"] = str(data.get("mensagem") or data.get("situacao") or "recusada")
    return [Note("plugnotas", id=note_id, **facts) for note_id, facts in found.items() if "content" in facts]


def due(note: Note, wish: Wish, summary: Summary, customer: str) -> dict[str, Any]:
    """Return every field of the note by its path."""
    issuer, sent = wish.emitente, note.content
    named = summary.seen is not None and bool(summary.seen.nome)
    simples = issuer.regime == "simples"
    fields: dict[str, Any] = {
        "idIntegracao": note.reference,
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
        "tomador.razaoSocial": companies()[customer]["razao_social"] if named else None,
        "tomador.email": wish.email,
        "servico.0.codigo": issuer.codigo_servico,
        "servico.0.discriminacao": wish.servico,
        "servico.0.valor.servico": wish.valor,
        "servico.0.cnae": issuer.cnae,
        "servico.0.iss.aliquota": Decimal(issuer.aliquota) if issuer.aliquota else None,
        "rps.serie": issuer.serie_rps,
        "rps.numero": sent.get("rps.numero") if issuer.serie_rps else None,
        COMPETENCE: sent.get(COMPETENCE),
    }
    # Who proposes an invoice names its customer, and gives no address.
    fields |= _address(sent, customer, named=named and not wish.proposta)
    return {path: value for path, value in fields.items() if value is not None}


def on_the_page(note: Note) -> dict[str, str]:
    """Return what the page of the simulated gateway shows."""
    return {
        "número": note.numero,
        "chave": note.chave,
        "protocolo": note.autorizacao,
        "id": note.id,
        "emitente": punctuated(note.prestador),
        "cliente": punctuated(note.tomador),
        "valor": f"R$ {printed(note.valor)}",
        "código do serviço": note.codigo,
        "serviço": note.servico,
    }


def copies(gateway: Book) -> int:
    """Return how many orders met one that was there."""
    return gateway.calls.get(("POST", 409), 0)


def unsound(_gateway: Book, _notes: Sequence[Note]) -> Iterator[str]:
    """Name nothing more: the fields and the webhooks are all that this book has."""
    yield from ()


READER = Reader(notes_of, due, COMPETENCE, on_the_page, copies, unsound)


def _ordered(payload: Mapping[str, Any]) -> dict[str, Any]:
    """Return what an order says."""
    content = dict(_flat(payload))
    reference, valor = str(payload.get("idIntegracao")), content.get("servico.0.valor.servico")
    numero = content.get("rps.numero")
    return {
        "key": bound_to(reference),
        "reference": reference,
        "prestador": str(content.get("prestador.cpfCnpj", "")),
        "tomador": str(content.get("tomador.cpfCnpj", "")),
        "valor": Decimal(str(valor)) if isinstance(valor, int | float) else Decimal("NaN"),
        "codigo": str(content.get("servico.0.codigo")),
        "servico": str(content.get("servico.0.discriminacao")),
        "competencia": str(content.get(COMPETENCE)),
        "content": content,
        "rps": None if numero is None else (str(content.get("rps.serie")), int(numero)),
    }


def _address(sent: Mapping[str, Any], customer: str, *, named: bool) -> dict[str, Any]:
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
    if not named and not any(path.startswith("tomador.endereco") for path in sent):
        return {}
    return {f"tomador.endereco.{name}": value for name, value in address.items() if value}


def _flat(value: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Yield (path, value) of every leaf of a JSON value."""
    if isinstance(value, dict | list):
        pairs = value.items() if isinstance(value, dict) else enumerate(value)
        for name, inner in pairs:
            yield from _flat(inner, f"{path}.{name}" if path else str(name))
    else:
        yield path, value
