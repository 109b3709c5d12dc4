"""A channel that differs from PlugNotas in all that an adapter may declare; it speaks to ``second_channel.city``."""

# ruff: noqa: D102 - the methods are those of ``gateway.port``, and say there what they do

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import timedelta
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Literal

from gateway.http import recording as tape
from gateway.http.client import Destination
from gateway.http.wire import Answer, NoAnswerError, NotSentError, as_dict, json_object, text
from gateway.keys import IdDPS
from gateway.lines import CallKind
from gateway.port import Explicacao
from gateway.registry import ChannelRow
from state_machine.cancellation.reconciliation import AlreadyCancelled, Cancelled, Stands
from state_machine.documents import service
from state_machine.protocol.channel import Natureza
from state_machine.protocol.emission import (
    Absent,
    Arquivo,
    CannotTell,
    Found,
    Issued,
    Misconfigured,
    Nota,
    NotReady,
    NotSent,
    Postponed,
    Rejected,
    Situacao,
    Unknown,
)
from state_machine.values.documents import CNPJ

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import date, datetime

    from gateway.port import Surroundings
    from state_machine.cancellation.machine import MotivoCancelamento
    from state_machine.cancellation.reconciliation import CancelFinding, CancelOutcome
    from state_machine.documents import Documento
    from state_machine.protocol.audit import Listagem
    from state_machine.protocol.channel import Ambiente
    from state_machine.protocol.emission import Download, Finding, Outcome

NAME = "cidade"
NATUREZA = Natureza(
    absences=3,
    absence_spacing=timedelta(seconds=0.3),
    absence_age=timedelta(seconds=0.3),
    resend_is_destructive=True,
    synchronous=True,
    lists_by=None,
    numbers="we",
    environments="each",
    webhook=False,
    prepares=True,
    reference=str,
    draws=True,
    substitutes=True,
    lag=timedelta(minutes=5),
    ladder=(0.1, 0.3, 1.0),
    spent=frozenset({"E9999"}),
)
_SITUACOES = {"normal": Situacao.AUTORIZADA, "substituida": Situacao.CANCELADA, "cancelada": Situacao.CANCELADA}


@dataclass(frozen=True, slots=True)
class CityKey:
    """The 45 characters of a DPS, made of the issuer's city and CNPJ and of the number that we gave."""

    dps: IdDPS

    @property
    def prestador(self) -> str:
        return self.dps.inscricao.numero

    def __str__(self) -> str:
        return str(self.dps)


class CityChannel:
    """``FiscalGateway`` over the simulated city."""

    name = NAME
    natureza = NATUREZA
    leiaute = None

    def __init__(self, url: str, around: Surroundings) -> None:
        self.ambiente: Ambiente = around.ambiente
        self.lines = around.lines
        self.dies = False
        self._way = Destination(url, timeout=2.0, guard=around.guard, observe=tape.observe)

    def key_for(self, intent: Documento) -> CityKey:
        assert intent.rps is not None, "the engine numbers for this channel"
        cnpj = CNPJ(intent.prestador.cnpj)
        return CityKey(IdDPS(intent.prestador.municipio_ibge, cnpj, int(intent.rps.serie), intent.rps.numero))

    def key(self, prestador: str, texto: str) -> CityKey:
        found = CityKey(IdDPS.parse(texto))
        if found.prestador != prestador:
            raise ValueError("the key is another company's")
        return found

    def payload(self, intent: Documento) -> bytes:
        body = {
            "chave": str(self.key_for(intent)),
            "referencia": intent.id_integracao,
            "prestador": intent.prestador.cnpj,
            "tomador": intent.tomador.documento,
            "valor": str(intent.valor),
            "descricao": service(intent).descricao,
            "competencia": intent.competencia.isoformat(),
            "servico": intent.prestador.codigo_servico,
        }
        return json.dumps(body, sort_keys=True).encode()

    async def check(self, intent: Documento) -> Rejected | None:
        return None

    def explain(self, recusa: Rejected) -> Explicacao:
        return Explicacao(f"a cidade disse “{recusa.mensagem}”", None, suporte=True)

    async def prepare(self, payload: bytes, agora: datetime, antes: Sequence[bytes] = ()) -> bytes | NotSent:
        key = self.key(json.loads(payload)["prestador"], json.loads(payload)["chave"])
        result = await self._call(key.prestador, CallKind.QUESTION, "/assinaturas", payload, "PUT")
        if not isinstance(result, Answer) or result.status != 200:
            return NotSent("not signed")
        return result.body

    async def submit(self, payload: bytes) -> Outcome:
        if self.dies:
            self.dies = False
            raise RuntimeError("the worker ends before the first byte leaves")
        key = self.key(json.loads(payload)["prestador"], json.loads(payload)["chave"])
        result = await self._call(key.prestador, CallKind.SUBMISSION, "/notas", payload)
        if not isinstance(result, Answer):
            return (NotSent if isinstance(result, NotSentError) else Unknown)(result.reason)
        body, says = json_object(result.body), f"HTTP {result.status}"
        nota = _nota(body.get("nota"), key)
        match result.status:
            case 200 if nota is not None:
                return Issued(nota, anulada=str(body["anulada"]) if body.get("anulada") else None)
            case 401 | 403:
                return Misconfigured(says)
            case 429 | 503:
                return Postponed(None, says)
            case 422 if message := text(as_dict(body.get("erro")).get("mensagem")):
                return Rejected(message)
            case _:
                return Unknown(says)

    async def find(self, key: CityKey) -> Finding:
        result = await self._call(key.prestador, CallKind.QUESTION, f"/notas/{key}")
        if not isinstance(result, Answer):
            return CannotTell(type(result).__name__)
        body = json_object(result.body)
        if result.status == 404 and as_dict(body.get("erro")).get("codigo") == "AUSENTE" and body["chave"] == str(key):
            return Absent()
        nota = _nota(body.get("nota"), key)
        return Found(nota) if result.status == 200 and nota else CannotTell(f"HTTP {result.status}")

    async def download(self, prestador: str, id_externo: str, formato: Literal["pdf", "xml"]) -> Download:
        result = await self._call(prestador, CallKind.DOWNLOAD, f"/notas/{_number(id_externo)}/{formato}")
        if isinstance(result, Answer) and result.status == 200 and result.body.startswith((b"%PDF-", b"<nota>")):
            return Arquivo(result.body, f"application/{formato}")
        return NotReady("not now")

    async def cancel(self, prestador: str, id_externo: str, motivo: MotivoCancelamento) -> CancelOutcome:
        body = json.dumps({"motivo": motivo.texto}).encode()
        path = f"/notas/{_number(id_externo)}/cancelamento"
        result = await self._call(prestador, CallKind.CANCELLATION, path, body)
        if not isinstance(result, Answer):
            return (NotSent if isinstance(result, NotSentError) else Unknown)(result.reason)
        done = str(json_object(result.body).get("cancelada")) == _number(id_externo)
        return AlreadyCancelled() if result.status == 200 and done else Unknown(f"HTTP {result.status}")

    async def cancellation(self, key: CityKey, id_externo: str, protocolo: str | None) -> CancelFinding:
        found = await self.find(key)
        if not isinstance(found, Found) or found.nota.id_externo != id_externo:
            return found if isinstance(found, CannotTell) else CannotTell("another note, or none")
        return Cancelled(found.nota) if found.nota.situacao is Situacao.CANCELADA else Stands()

    async def listing(self, prestador: str, inicio: date, fim: date, cursor: str | None = None) -> Listagem:
        raise AssertionError("a channel that lists nothing was asked for a list")

    async def whole(self, prestador: str, nota: Nota) -> Found:
        raise AssertionError("a channel that lists nothing was asked for a listed note")

    async def aclose(self) -> None:
        await self._way.aclose()

    async def _call(
        self, prestador: str, kind: CallKind, path: str, content: bytes | None = None, method: str = "POST"
    ) -> Answer | NoAnswerError:
        try:
            with self.lines.call(prestador, kind) as breaker:
                return await self._way.request(method if content else "GET", path, content=content, breaker=breaker)
        except NoAnswerError as error:
            return error


def row(url: str) -> dict[str, ChannelRow]:
    """Return the channel's row of the registry, for the city at this address."""
    return {NAME: ChannelRow(NATUREZA, lambda around: CityChannel(url, around))}


def _nota(data: Any, key: CityKey) -> Nota | None:
    told = as_dict(data)
    if told.get("chave") != str(key):
        return None
    return Nota(
        id_externo=f"{told['chave']}-{told['numero']}",
        id_integracao=told["chave"],
        situacao=_SITUACOES[told["situacao"]],
        prestador=told["prestador"],
        tomador=told["tomador"],
        valor=Decimal(told["valor"]),
        numero=str(told["numero"]),
        descricao=told["descricao"],
        competencia=told["competencia"],
        codigo_servico=told["servico"],
        referencia=told["referencia"],
    )


def _number(id_externo: str) -> str:
    return id_externo.rpartition("-")[2]
