"""A note as the simulated PlugNotas keeps it, and the JSON shapes in which it speaks of it."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from decimal import Decimal
from typing import Any, Final

BRASILIA: Final = timezone(timedelta(hours=-3))  # no daylight saving since 2019
PROCESSING: Final = "PROCESSANDO"
ISSUED: Final = "CONCLUIDO"
REJECTED: Final = "REJEITADO"
CANCELLED: Final = "CANCELADO"
_FEMININE: Final = {REJECTED: "REJEITADA"}  # retorno.situacao agrees with "nota" there


@dataclass(frozen=True, slots=True)
class Note:
    """One invoice. ``payload`` is the JSON it was asked with; ``url`` of the server that renders it."""

    id: str
    protocol: str
    created_at: datetime
    payload: dict[str, Any]
    situacao: str = PROCESSING
    settled_at: datetime | None = None
    numero: str | None = None
    chave: str | None = None
    autorizacao: str | None = None
    mensagem: str | None = None
    cancel_protocol: str | None = None
    cancel_answer: str | None = None  # what the city said of the cancellation
    motivo: str | None = None
    emissor: str | None = None  # the issuer's name as registered, where the payload leaves it out

    @property
    def id_integracao(self) -> str:
        """Our key, empty when the sender gave none."""
        return str(self.payload.get("idIntegracao") or "")

    @property
    def prestador(self) -> str:
        """The issuer's CNPJ or CPF, bare."""
        return bare(self.payload["prestador"]["cpfCnpj"])

    @property
    def prestador_nome(self) -> str | None:
        """The issuer's name, if anybody said it."""
        return self.payload["prestador"].get("razaoSocial") or self.emissor

    @property
    def tomador(self) -> str:
        """The customer's CNPJ or CPF, bare; empty when not identified."""
        return bare((self.payload.get("tomador") or {}).get("cpfCnpj", ""))

    @property
    def servico(self) -> dict[str, Any]:
        """The one service of the note."""
        found: dict[str, Any] = self.payload["servico"][0]
        return found

    @property
    def valor(self) -> Decimal:
        """BRL, two decimals."""
        return money(self.servico["valor"]["servico"])

    @property
    def serie(self) -> str:
        """Series of the DPS."""
        return str((self.payload.get("rps") or {}).get("serie") or "900")

    @property
    def municipio(self) -> str:
        """IBGE code of the issuing city."""
        address = self.payload["prestador"].get("endereco") or {}
        city = (self.payload.get("emitente") or {}).get("codigoCidade") or address.get("codigoCidade")
        return str(city or "3550308")

    @property
    def has_files(self) -> bool:
        """Say whether a PDF and an XML exist, or will in a moment."""
        return self.situacao in {ISSUED, CANCELLED}

    def summary(self, url: str) -> dict[str, Any]:
        """Return the flat shape of ``/nfse/consultar/…`` and of ``error.data.current``."""
        out: dict[str, Any] = {
            "id": self.id,
            "idIntegracao": self.id_integracao,
            "emissao": self.created_at.astimezone(BRASILIA).strftime("%d/%m/%Y"),
            "tipoAutorizacao": "WEBSERVICE",
            "situacao": self.situacao,
            "prestador": self.prestador,
            "tomador": self.tomador,
            "valorServico": number(self.valor),
            "serie": self.serie,
            "lote": "1",
        }
        if self.numero:
            out |= {"numeroNfse": self.numero, "numero": self.numero, "codigoVerificacao": self.chave}
            out |= {"autorizacao": self.autorizacao, "protocoloPrefeitura": self.autorizacao}
        if self.mensagem:
            out["mensagem"] = self.mensagem
        return out | self._files(url)

    def document(self, url: str) -> dict[str, Any]:
        """Return the nested shape of ``GET /nfse/{id}``."""
        out: dict[str, Any] = {
            **self.payload,
            "id": self.id,
            "status": self.situacao,
            "protocol": self.protocol,
            "padrao": "NACIONAL",
            "tentativasReenvio": 0,
            "dps": {"numero": self.numero or "", "serie": self.serie},
            "retorno": {
                "situacao": _FEMININE.get(self.situacao, self.situacao),
                "mensagemRetorno": self.mensagem or "",
            },
            "criado": self.created_at.isoformat(),
        }
        if self.settled_at and self.numero:
            out |= {"concludedAt": self.settled_at.isoformat(), "numeroNfse": self.numero, "chave": self.chave}
            out["retorno"] |= {
                "numeroNfse": self.numero,
                "codigoVerificacao": self.chave,
                "protocolo": self.autorizacao,
            }
            out["retorno"]["dataAutorizacao"] = self.settled_at.astimezone(BRASILIA).isoformat(timespec="seconds")
        return out | self._files(url)

    def hook(self, url: str) -> dict[str, Any]:
        """Return the flat object of the webhook."""
        return {
            "id": self.id,
            "idIntegracao": self.id_integracao,
            "status": self.situacao,
            "numero": self.numero,
            "serie": self.serie,
            "chave": self.chave,
            "mensagem": self.mensagem,
            "pdf": None,
            "xml": None,
        } | self._files(url)

    def _files(self, url: str) -> dict[str, str]:
        if not self.has_files:
            return {}
        return {"pdf": f"{url}/nfse/pdf/{self.id}", "xml": f"{url}/nfse/xml/{self.id}"}


def bare(document: Any) -> str:
    """Return a CNPJ or CPF without punctuation, letters kept (alphanumeric CNPJ) and in capitals."""
    return "".join(filter(str.isalnum, str(document or ""))).upper()


def money(value: Any) -> Decimal:
    """Return a JSON number as BRL with two decimals; its shortest text is exact, so no cent is lost on the way."""
    return Decimal(str(value)).quantize(Decimal("0.01"))


def number(value: Decimal) -> int | float:
    """Return money as the JSON number it is on the wire: 150, 1500.1."""
    return int(value) if value == value.to_integral_value() else float(value)


def access_key(note: Note, numero: int, at: datetime) -> str:
    """Return the 50 characters of the NFS-e key: city, environment, kind and number of document, note, month, DV.

    Layout and check digit (mod 11, weights 2 to 9 from the right, 0 and 1 become 0): national NFS-e, Anexo I.
    """
    kind = "2" if len(note.prestador) == 14 else "1"  # noqa: PLR2004 - the length of a CNPJ
    month = at.astimezone(BRASILIA).strftime("%y%m")
    random = int(hashlib.sha256(note.id.encode()).hexdigest(), 16) % 10**9
    body = f"{note.municipio}2{kind}{note.prestador:0>14}{numero:013d}{month}{random:09d}"
    return body + access_check_digit(body)


def access_check_digit(body: str) -> str:
    """Return the check digit of an NFS-e key without it; a letter counts as its code less 48."""
    total = sum((ord(char) - 48) * (2 + place % 8) for place, char in enumerate(reversed(body))) % 11
    return "0" if total < 2 else str(11 - total)  # noqa: PLR2004 - the rule itself
