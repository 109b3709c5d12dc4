"""The simulated ``lotenfe`` of São Paulo: takes RPS, makes and cancels notes, keeps the ledger that judges."""

from __future__ import annotations

import asyncio
import hashlib
from collections import defaultdict
from dataclasses import replace
from datetime import date
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Final

from aiohttp import web
from lxml import etree
from stdnum.br import cnpj as documents

from proofs.sandbox.faults import Fault, Faults
from proofs.sandbox.nacional.mutual import MutualTls, company
from proofs.sandbox.paulistana import wire
from proofs.sandbox.paulistana.codes import Evento, RefusedError
from proofs.sandbox.paulistana.methods import Call
from proofs.sandbox.paulistana.rps import (
    Chave,
    Note,
    national_key,
    tax,
    verification_code,
)
from proofs.sandbox.paulistana.rules import PaulistanaConfig, Taxpayer
from proofs.sandbox.plugnotas.model import BRASILIA
from proofs.sandbox.server import ADMIN, answer

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from proofs.sandbox.ledger import Record
    from proofs.sandbox.nacional.authority import Authority

BASE: Final = "/lotenfe.asmx"
_DOWN: Final = (
    "<html><head><title>403 - Forbidden</title></head><body><h2>403 - Forbidden: Access is denied.</h2></body></html>"
)
_KEPT: Final = frozenset({"218", "338", "372", "373", "323", "386", "324"})  # marks under which a note is not undone


class PaulistanaSimulator(MutualTls):
    """The city's web service with its books.

    The ledger has ``nfe.issued``, ``nfe.cancelled`` (``by``: ``ws``, ``site`` or ``substituicao``), ``nfe.mark``,
    ``refused`` (codes of every refusal, with the RPS and its XML where there is one) and ``call`` (every call with its
    operation, status and the CNPJ of its certificate). It is the storage too: opened again on it, it goes on.
    """

    name = "paulistana"

    def __init__(self, authority: Authority, config: PaulistanaConfig | None = None, **server: Any) -> None:
        self.config = config or PaulistanaConfig()
        server.setdefault("faults", paulistana_faults(self.config))
        super().__init__(authority, **server)
        self.notes: dict[tuple[str, int], Note] = {}  # by CCM and number, oldest first
        self._by_rps: defaultdict[Chave, list[tuple[str, int]]] = defaultdict(list)
        self._numbers: defaultdict[str, int] = defaultdict(int)
        for record in self.ledger.replay():
            self._learn(record)
        self.ledger.listen(self._learn)

    def routes(self) -> Iterable[web.AbstractRouteDef]:
        """Return the service's one route and those of the site's switches."""
        return [
            web.post(BASE, self._call),
            web.post(ADMIN + "site/nfe", self._site_issue),
            web.post(ADMIN + "site/cancelar", self._site_cancel),
            web.post(ADMIN + "site/marcar", self._site_mark),
        ]

    def error_body(self, status: int) -> dict[str, Any]:
        """Return what a fault says; it travels as ``error`` writes it."""
        return {"faultstring": "Too Many Requests" if status == 429 else "Server was unable to process request."}  # noqa: PLR2004 - HTTP

    def error(self, status: int, **headers: str) -> web.Response:
        """Answer with a SOAP fault."""
        text = wire.fault(self.error_body(status)["faultstring"])
        return web.Response(status=status, body=text, content_type="application/soap+xml", headers=headers)

    def uncertified(self, request: web.Request) -> web.Response:  # noqa: ARG002 - the same for everybody
        """Answer 403 with the web server's page."""
        return web.Response(status=403, text=_DOWN, content_type="text/html")

    # the books

    def of_rps(self, chave: Chave) -> list[Note]:
        """Return the notes made of an RPS, oldest first: after a substitution there are several."""
        return [self.notes[key] for key in self._by_rps.get(chave, ())]

    def issue_elsewhere(
        self,
        ccm: str,
        cnpj: str,
        *,
        valor: Decimal = Decimal(100),
        descricao: str = "Nota emitida no site",
        serie: str | None = None,
        rps: int | None = None,
        tomador: str | None = None,
    ) -> Note:
        """Make a note on the city's site; with ``serie`` and ``rps`` it converts that RPS by hand."""
        day = self.today()
        made = etree.Element("RPS")
        for name, said in (
            ("DataEmissao", day.isoformat()),
            ("TributacaoRPS", "T"),
            ("ValorDeducoes", "0"),
            ("CodigoServico", "2658"),
            ("ISSRetido", "false"),
        ):
            etree.SubElement(made, name).text = said
        if tomador is not None:
            person = etree.SubElement(made, "CPFCNPJTomador")
            etree.SubElement(person, "CNPJ" if len(tomador) == 14 else "CPF").text = tomador  # noqa: PLR2004 - the length of a CNPJ
        etree.SubElement(made, "Discriminacao").text = descricao
        return self.write(
            ccm.lstrip("0"),
            Taxpayer(cnpj),
            made,
            versao=2,
            valor=valor,
            deducoes=Decimal(0),
            aliquota=Decimal("0.05"),
            by="site",
            serie=serie,
            rps=rps,
            tomador=tomador,
            descricao=descricao,
        )

    def cancel_elsewhere(self, ccm: str, numero: int) -> None:
        """Cancel a note on the site. Raises ``KeyError``."""
        self.cancel(self.notes[ccm.lstrip("0"), numero], "site")

    def mark(self, ccm: str, numero: int, code: str) -> None:
        """Let something happen to a note after which it is not undone: 218, 323, 324, 338, 372, 373 or 386.

        Raises ``KeyError`` for no note, ``ValueError`` for another code.
        """
        if code not in _KEPT:
            raise ValueError(code)
        note = self.notes[ccm.lstrip("0"), numero]
        self.ledger.append("nfe.mark", ccm=note.ccm, numero=note.numero, code=code)

    def cancel(self, note: Note, by: str) -> None:
        """Write that a note counts no more."""
        self.ledger.append("nfe.cancelled", ccm=note.ccm, numero=note.numero, by=by)

    def write(
        self,
        ccm: str,
        taxpayer: Taxpayer,
        element: Any,
        *,
        versao: int,
        valor: Decimal,
        deducoes: Decimal,
        aliquota: Decimal,
        by: str,
        sha256: str = "",
        **told: Any,
    ) -> Note:
        """Make a note with the next number of its CCM."""
        numero, at = self._numbers[ccm] + 1, self.ledger.now()
        self.ledger.append(
            "nfe.issued",
            numero=numero,
            ccm=ccm,
            prestador=taxpayer.cnpj,
            valor=f"{valor:.2f}",
            aliquota=str(aliquota),
            iss=f"{tax(valor, deducoes, aliquota):.2f}",
            regime=taxpayer.regime,
            versao=versao,
            verificacao=verification_code(ccm, numero),
            chave_nacional=national_key(taxpayer.cnpj, numero, at) if versao > 1 else None,
            sha256=sha256,
            by=by,
            packed=etree.tostring(element, encoding="unicode"),
            **told,
        )
        return self.notes[ccm, numero]

    def _learn(self, record: Record) -> None:
        match record.kind:
            case "nfe.issued":
                note = Note.of(record)
                self.notes[note.ccm, note.numero] = note
                self._numbers[note.ccm] = max(self._numbers[note.ccm], note.numero)
                if note.chave is not None:
                    self._by_rps[note.chave].append((note.ccm, note.numero))
            case "nfe.cancelled":
                key = record.data["ccm"], record.data["numero"]
                self.notes[key] = replace(self.notes[key], cancelled=record.at, cancelled_by=record.data["by"])
            case "nfe.mark":
                key = record.data["ccm"], record.data["numero"]
                self.notes[key] = replace(self.notes[key], mark=record.data["code"])

    # the wire

    async def _call(self, request: web.Request) -> web.Response:
        body, who = await request.read(), company(request)
        name = ""
        try:
            said = request.headers.get("Content-Type", ""), request.headers.get("SOAPAction")
            used, action = wire.binding_of(*said, taken=self.config.binding)
            operation, inside = wire.opened(body, used, action)
            name = operation.name
            await asyncio.sleep(self.config.processing)
            response = web.Response(
                body=wire.answer(self._answered(operation, inside, who), operation, used),
                content_type="text/xml" if used == "soap11" else "application/soap+xml",
                charset="utf-8",
            )
        except wire.NotTakenError as error:
            page = b"" if error.status == 415 else wire.fault(str(error))  # noqa: PLR2004 - HTTP
            response = web.Response(status=error.status, body=page, content_type="application/soap+xml")
        self.ledger.append(
            "call", method=request.method, path=request.path, status=response.status, company=who, operation=name
        )
        return response

    def _answered(self, operation: wire.Operation, inside: Any, who: str | None) -> str:
        """Return the ``Retorno`` of a call."""
        call, versao = None, 1
        try:
            said, text = wire.message(inside, operation)
            versao = 2 if said == "2" else 1
            call = self._read(operation, said, text, who)
            call.run(operation)
        except RefusedError as error:
            return self._retorno(operation, versao, call, error.erros)
        return self._retorno(operation, versao, call, ())

    def _read(self, operation: wire.Operation, versao: str, text: str, who: str | None) -> Call:
        config = self.config
        root = wire.pedido(text, operation, versao, one_line=config.one_line)
        signed_by = wire.signer(root, self.authority.root.certificate, config.revoked)
        call = Call(self, int(versao), root, signed_by, hashlib.sha256(text.encode()).hexdigest())
        if not self.same(call.remetente, who):
            raise RefusedError(Evento("1100"))
        if len(call.remetente) == 14 and not documents.is_valid(call.remetente):  # noqa: PLR2004 - the length of a CNPJ
            raise RefusedError(Evento("1109"))
        return call

    def _retorno(self, operation: wire.Operation, versao: int, call: Call | None, erros: Sequence[Evento]) -> str:
        """Return the text of an answer, held against the schema of the city; where a switch says so, spoilt then."""
        if erros:
            sent, codes = call.sent() if call else None, [erro.codigo for erro in erros]
            rps = None if sent is None or call is None else call.root.find("RPS")
            packed = {"packed": etree.tostring(rps, encoding="unicode")} if rps is not None else {}
            sender = call.remetente if call else None
            self.ledger.append("refused", operation=operation.name, codes=codes, rps=sent, remetente=sender, **packed)
        head = etree.Element("Cabecalho", Versao=str(versao))
        etree.SubElement(head, "Sucesso").text = "false" if erros else "true"
        alertas, rest = (call.alertas, call.rest) if call else ([], [])
        told = [alerta.element("Alerta") for alerta in alertas] + [erro.element("Erro") for erro in erros]
        text = wire.retorno(operation, [head, *told, *rest])
        wire.schema(operation.retorno, versao).assertValid(etree.fromstring(text))
        wrong = self.faults.strike(Fault.WRONG_ROOT, operation.name, method="POST")
        return text.replace(operation.retorno, "Retorno") if wrong else text

    def today(self) -> date:
        """Return the city's day."""
        return self.ledger.now().astimezone(BRASILIA).date()

    def same(self, left: str | None, right: str | None) -> bool:
        """Say whether a certificate is good for a company."""
        if self.config.same_root and left and right:
            return left[:8] == right[:8]
        return bool(left) and left == right

    # the site

    async def _site_issue(self, request: web.Request) -> web.Response:
        """``POST /_sandbox/site/nfe`` with ``ccm``, ``cnpj`` and what else ``issue_elsewhere`` takes."""
        try:
            asked = await request.json()
            note = self.issue_elsewhere(**{**asked, "valor": Decimal(str(asked.get("valor", 100)))})
        except (ValueError, TypeError, ArithmeticError) as error:
            return answer({"error": str(error)}, 400)
        return answer({"numero": note.numero}, 201)

    async def _site_cancel(self, request: web.Request) -> web.Response:
        """``POST /_sandbox/site/cancelar`` with ``ccm`` and ``numero``."""
        return await self._switched(request, self.cancel_elsewhere)

    async def _site_mark(self, request: web.Request) -> web.Response:
        """``POST /_sandbox/site/marcar`` with ``ccm``, ``numero`` and ``code``."""
        return await self._switched(request, self.mark)

    async def _switched(self, request: web.Request, does: Any) -> web.Response:
        try:
            does(**await request.json())
        except (ValueError, TypeError, KeyError) as error:
            return answer({"error": str(error)}, 400)
        return answer({}, 201)


def paulistana_faults(config: PaulistanaConfig, *, seed: int = 0) -> Faults:
    """Return the faults of the city with its own usual delay."""
    return Faults(seed=seed, usual={Fault.ACCEPT_LATE: {"seconds": config.late}})
