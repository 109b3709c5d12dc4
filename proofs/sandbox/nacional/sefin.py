"""The simulated SEFIN Nacional: takes DPS and requests, makes notes and events, keeps the ledger that judges."""

from __future__ import annotations

import hashlib
from collections import defaultdict
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Final

from aiohttp import web

from gateway.nacional.layouts import layout_for
from gateway.nacional.signature import pack
from proofs.sandbox.faults import Fault, Faults
from proofs.sandbox.nacional import documents, sefin_http
from proofs.sandbox.nacional.errors import Absence, Erro, RefusedError, Shape, body, forced
from proofs.sandbox.nacional.model import CANCELAMENTO, SUBSTITUICAO, Dps, Event, Note, path
from proofs.sandbox.nacional.mutual import MutualTls
from proofs.sandbox.nacional.register import Checks, City, Place, Taxpayer
from proofs.sandbox.nacional.rules import accepted, broken, broken_request, received, signer
from proofs.sandbox.plugnotas.model import BRASILIA
from state_machine.protocol.channel import Ambiente

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from datetime import date
    from decimal import Decimal

    from gateway.nacional.layouts import Layout
    from proofs.sandbox.ledger import Record
    from proofs.sandbox.nacional.authority import Authority

BASE: Final = "/SefinNacional"
_DOWN: Final = "<html><head><title>403 - Forbidden</title></head><body><h2>403 - Acesso negado.</h2></body></html>"
_TP_AMB: Final = {Ambiente.PRODUCAO: "1", Ambiente.HOMOLOGACAO: "2"}


@dataclass(frozen=True, slots=True)
class NacionalConfig:
    """How SEFIN and ADN behave."""

    ambiente: Ambiente = Ambiente.HOMOLOGACAO
    cities: Mapping[str, City] = field(default_factory=dict)  # those that differ from the rest, by IBGE code
    taxpayers: Mapping[str, Taxpayer] = field(default_factory=dict)  # those of whom the registers say something
    closed: frozenset[str] = frozenset()  # CNPJs that are BAIXADA: E0190
    processing: float = 0.0  # seconds from the order to the answer, before anything is accepted
    cancel_within: float | None = None  # seconds from the note: E0822 afterwards (None: never)
    late: float = 40.0  # seconds of ``aceitar_tarde``, where its setting says no other
    page: int = 50  # documents in one lot of the distribution
    shape: Shape | None = None  # of all refusals; None: each of the four in its turn
    absence: Absence | None = None  # of every DPS without a note; None: each of the three in its turn
    checks: Checks = field(default_factory=Checks)
    nt009: date | None = None  # first day of that layout; None: layout 1.01 for ever


class SefinSimulator(MutualTls):
    """API of the national emitter with its books.

    The ledger has ``nfse.issued``, ``nfse.refused`` (a whole DPS that became no note), ``nfse.event``, ``refused``
    (codes and shape of every refusal) and ``call`` (every API call with its status and the CNPJ of its certificate). It
    is the storage too: opened again on it, the simulator goes on.
    """

    name = "sefin"

    def __init__(self, authority: Authority, config: NacionalConfig | None = None, **server: Any) -> None:
        self.config = config or NacionalConfig()
        server.setdefault("faults", sefin_faults(self.config))
        super().__init__(authority, **server)
        self.notes: dict[str, Note] = {}  # by key, oldest first
        self._by_dps: defaultdict[str, list[str]] = defaultdict(list)
        self._numbers: defaultdict[tuple[str, str], int] = defaultdict(int)
        self._documents = 0
        self._refusals = self._absences = 0
        for record in self.ledger.replay():
            self._learn(record)
        self.ledger.listen(self._learn)

    def routes(self) -> Iterable[web.AbstractRouteDef]:
        """Return the API's routes and those of the portal's switches."""
        return sefin_http.routes(self, BASE)

    def error_body(self, status: int) -> dict[str, Any]:
        """Return what the framework below the real one says of its own trouble."""
        return {"title": "Too Many Requests" if status == 429 else "Internal Server Error", "status": status}  # noqa: PLR2004 - HTTP

    def uncertified(self, request: web.Request) -> web.Response:  # noqa: ARG002 - the same for everybody
        """Answer 403 with the edge's page."""
        return web.Response(status=403, text=_DOWN, content_type="text/html")

    # what the API asks

    def of_dps(self, identity: str) -> list[Note]:
        """Return the notes made of a DPS: one, or more where uniqueness was switched off."""
        return [self.notes[chave] for chave in self._by_dps.get(identity, ())]

    def seen(self, note: Note) -> bool:
        """Say whether reading shows a note yet."""
        lag = self.faults.setting(Fault.READ_LAG)
        return lag is None or note.at <= self.ledger.now() - timedelta(seconds=lag.seconds)

    def envelope(self) -> dict[str, Any]:
        """Return what stands in every answer."""
        return {
            "tipoAmbiente": int(self.tp_amb),
            "versaoAplicativo": documents.VERSION,
            "dataHoraProcessamento": self.ledger.now().astimezone(BRASILIA).isoformat(),
        }

    @property
    def tp_amb(self) -> str:
        """1 production, 2 homologation."""
        return _TP_AMB[self.config.ambiente]

    def door(self, who: str | None, method: str, path: str) -> None:
        """Refuse before anything is taken: who has no CNPJ, or where a switch says so. Raises ``RefusedError``."""
        if who is None:
            raise RefusedError(Erro("E1209"), status=403)
        key = f"{method} {path}"
        for fault, code in ((Fault.CERTIFICATE, "E1203"), (Fault.NO_CRL, "E1206"), (Fault.MAINTENANCE, "E1217")):
            if self.faults.strike(fault, key, method=method):
                raise RefusedError(Erro(code))
        if setting := self.faults.strike(Fault.REFUSE, key, method=method):
            raise RefusedError(forced(setting.message, "E1235"), status=setting.status)

    def refusal(self, error: RefusedError, where: str) -> Any:
        """Write a refusal into the books; returns its body, in the shape whose turn it is."""
        shape = self.config.shape or tuple(Shape)[self._refusals % len(Shape)]
        codes = [erro.codigo for erro in error.erros]
        self.ledger.append("refused", path=where, codes=codes, shape=shape.value)
        return body(error.erros, shape, self.envelope())

    def absence(self) -> Absence:
        """Return the form in which the next absence is told."""
        self._absences += 1
        return self.config.absence or tuple(Absence)[self._absences % len(Absence)]

    def submit(self, packed: Any) -> Note:
        """Make the note of a DPS as it travels. Raises ``RefusedError``."""
        xml, place = received(packed), self._place()
        root, layout = accepted(xml, "DPS", "infDPS/dhEmi", place)
        signed_by = signer(xml, root, place, absent="E0717", wrong="E0714")
        dps = Dps.of(root.find(path("infDPS")))
        taken = bool(self.of_dps(dps.identity)) and self._unique(dps.identity)
        erros = broken(root, signed_by, place, taken=taken)
        if setting := self.faults.strike(Fault.REJECT, dps.id, text=dps.descricao):
            erros.append(forced(setting.message, "E0312"))
        digest = hashlib.sha256(xml).hexdigest()
        if erros:
            self._not_made(dps, packed, digest, erros)
            raise RefusedError(*erros)
        return self._issue(dps, root, layout, digest, by="api")

    def register(self, chave: str, packed: Any) -> Event:
        """Register a request to cancel the note of ``chave``. Raises ``RefusedError``."""
        xml, place = received(packed), self._place()
        root, layout = accepted(xml, "pedRegEvento", "infPedReg/dhEvento", place)
        signed_by = signer(xml, root, place, absent="E1989", wrong="E1980")
        info = root.find(path("infPedReg"))
        if info[-1].tag != path(f"e{CANCELAMENTO}"):
            raise RefusedError(Erro("E1242"))
        note, digest = self.notes.get(chave), hashlib.sha256(xml).hexdigest()
        erros = broken_request(chave, info, note, signed_by, place)
        if note is not None:
            erros += self._not_cancellable(note, digest)
        if note is None or erros:
            raise RefusedError(*erros)
        return self._happen(note, CANCELAMENTO, root, layout, digest, by="api")

    # what happens elsewhere

    def issue_elsewhere(
        self,
        prestador: str,
        *,
        tomador: str,
        valor: Decimal,
        tomador_nome: str = "TOMADOR INVENTADO",
        descricao: str = "Nota emitida no portal",
        codigo: str = "010101",
        municipio: str = "3550308",
        competencia: date | None = None,
        serie: str = documents.PORTAL_SERIE,
        numero: int | None = None,
    ) -> Note:
        """Make a note that somebody issues on the web portal: nobody else hears of it but by the distribution.

        With another ``serie`` and a ``numero`` it is another program's.
        """
        at = self.ledger.now()
        layout = layout_for(self.config.ambiente, at.astimezone(BRASILIA).date(), self.config.nt009)
        made = sum(note.by == "portal" and note.prestador == prestador for note in self.notes.values())
        root = documents.portal_dps(
            prestador=prestador,
            tomador=tomador,
            tomador_nome=tomador_nome,
            municipio=municipio,
            serie=serie,
            numero=numero or made + 1,
            codigo=codigo,
            valor=valor,
            descricao=descricao,
            competencia=competencia or at.astimezone(BRASILIA).date(),
            tp_amb=self.tp_amb,
            at=at,
            layout=layout,
        )
        return self._issue(Dps.of(root.find(path("infDPS"))), root, layout, "", by="portal")

    def cancel_elsewhere(self, chave: str) -> Event:
        """Cancel a note on the web portal. Raises ``RefusedError``, and ``KeyError`` for a key without note."""
        note = self.notes[chave]
        if note.cancelled:
            raise RefusedError(Erro("E0840"))
        return self._own_event(note, CANCELAMENTO, "Cancelada no portal do contribuinte", by="portal")

    # the books

    def _place(self) -> Place:
        config = self.config
        books = (config.cities, config.closed, config.checks, config.nt009, self.notes, config.taxpayers)
        return Place(config.ambiente, self.tp_amb, self.ledger.now(), *books)

    def _unique(self, identity: str) -> bool:
        return self.faults.strike(Fault.NO_UNIQUENESS, identity) is None

    def _not_cancellable(self, note: Note, digest: str) -> list[Erro]:
        """Say what happened before: the same bytes again have the id of an event that is there, others do not."""
        if note.cancelled:
            again = any(event.request_sha256 == digest for event in note.events)
            return [Erro("E0802" if again else "E0840")]
        limit = self.config.cancel_within
        late = limit is not None and self.ledger.now() - note.at > timedelta(seconds=limit)
        return [Erro("E0822")] if late or self.faults.strike(Fault.REJECT_CANCEL, note.chave) else []

    def _issue(self, dps: Dps, root: Any, layout: Layout, digest: str, *, by: str) -> Note:
        at, numero = self.ledger.now(), self._numbers[dps.municipio, dps.prestador] + 1
        chave = dps.access_key(numero)
        xml = documents.note(
            dps,
            root,
            chave=chave,
            numero=numero,
            sequence=self._documents + 1,
            at=at,
            rate=self._place().city(dps.municipio).rate,
            layout=layout,
            seal=self.authority.seal,
            portal=by == "portal",
        )
        self.ledger.append(
            "nfse.issued",
            id_dps=dps.id,
            chave=chave,
            numero=numero,
            municipio=dps.municipio,
            prestador=dps.prestador,
            tomador=dps.tomador,
            valor=f"{dps.valor:.2f}",
            descricao=dps.descricao,
            competencia=dps.competencia.isoformat(),
            codigo=dps.codigo,
            c_int_contrib=dps.c_int_contrib,
            dps_sha256=digest,
            by=by,
            packed=pack(xml),
        )
        if dps.substituida is not None:
            old = self.notes[dps.substituida]
            self._own_event(old, SUBSTITUICAO, "Substituída por outra nota", by=by, substituta=chave)
        return self.notes[chave]

    def _not_made(self, dps: Dps, packed: str, digest: str, erros: Sequence[Erro]) -> None:
        """Write down which DPS became no note, and why."""
        self.ledger.append(
            "nfse.refused",
            id_dps=dps.id,
            c_int_contrib=dps.c_int_contrib,
            codes=[erro.codigo for erro in erros],
            dps_sha256=digest,
            packed=packed,
        )

    def _own_event(self, note: Note, tipo: str, motivo: str, *, by: str, substituta: str = "") -> Event:
        at = self.ledger.now()
        layout = layout_for(self.config.ambiente, at.astimezone(BRASILIA).date(), self.config.nt009)
        request = documents.own_request(
            note.chave,
            tipo,
            note.prestador,
            motivo,
            tp_amb=self.tp_amb,
            at=at,
            layout=layout,
            substituta=substituta,
        )
        return self._happen(note, tipo, request, layout, None, by=by)

    def _happen(self, note: Note, tipo: str, request: Any, layout: Layout, digest: str | None, *, by: str) -> Event:
        xml = documents.event(
            note.chave,
            tipo,
            request,
            sequence=self._documents + 1,
            at=self.ledger.now(),
            layout=layout,
            seal=self.authority.seal,
        )
        self.ledger.append("nfse.event", chave=note.chave, tipo=tipo, packed=pack(xml), request_sha256=digest, by=by)
        return self.notes[note.chave].events[-1]

    def _learn(self, record: Record) -> None:
        match record.kind:
            case "nfse.issued":
                note = Note.of(record)
                self.notes[note.chave] = note
                self._by_dps[note.id_dps].append(note.chave)
                place = note.municipio, note.prestador
                self._numbers[place] = max(self._numbers[place], note.numero)
                self._documents += 1
            case "nfse.event":
                told = {name: value for name, value in record.data.items() if name != "chave"}
                note = self.notes[record.data["chave"]]
                event = Event(nsu=record.seq, at=record.at, **told)
                self.notes[note.chave] = replace(note, events=(*note.events, event))
                self._documents += 1
            case "refused":
                self._refusals += 1


def sefin_faults(config: NacionalConfig, *, seed: int = 0) -> Faults:
    """Return the faults of SEFIN with its own usual delay."""
    return Faults(seed=seed, usual={Fault.ACCEPT_LATE: {"seconds": config.late}})
