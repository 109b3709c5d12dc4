"""The books of a good storm on the national channel: the same twenty people, their DPS signed, the notes sealed."""

from __future__ import annotations

import base64
import copy
import gzip
import tempfile
from collections import Counter
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from lxml import etree

from gateway.nacional.dps import build, id_dps
from gateway.nacional.layouts import NS
from gateway.nacional.payload import circumstances
from gateway.nacional.processes.danfse_process import draw
from gateway.nacional.signature import pack, sign
from proofs.sandbox.cnpj_register import closed_companies, companies
from proofs.sandbox.ledger import Ledger
from proofs.sandbox.nacional.authority import Authority
from proofs.sandbox.nacional.errors import RefusedError
from proofs.sandbox.nacional.register import Checks
from proofs.sandbox.nacional.sefin import NacionalConfig, SefinSimulator
from proofs.storm.channels.nacional import ISSUERS
from proofs.storm.judge.messages import REPLACED
from proofs.storm.plan import Kind, Plan
from state_machine.documents import DocumentoServico, Endereco, Prestador, Rps, Substituicao, Tomador, Tributos
from state_machine.invoice.summary import MOTIVO
from state_machine.protocol.channel import Ambiente
from tests.proofs.storm.storm_books import Fact, Stage, talk
from tests.proofs.storm.storm_wishes import PEOPLE, wish

if TYPE_CHECKING:
    from collections.abc import Callable

    from proofs.storm.crowd import Issuer, Wish

DAY = datetime(2026, 11, 24, 15, tzinfo=UTC)  # the layout in force
EDITH, FRED = 7, 8  # of the company that may replace notes; Edith's first one has a wrong amount
FIRST, SECOND, FREDS = f"S{EDITH}-r1-1", f"S{EDITH}b-r1-1", f"S{FRED}-r1-1"
LAX = Checks(schema=False, signature=False, without=frozenset({"E0175", "E0539"}))
UNCHECKED = NacionalConfig(checks=LAX)  # it takes what it should not
CONFIG = NacionalConfig(closed=frozenset(closed_companies()))


@cache
def authority() -> Authority:
    """The one authority of these tests; its keys take a while to make."""
    return Authority(Path(tempfile.mkdtemp(prefix="books-")))


@dataclass
class NationalStage(Stage):
    """As ``Stage``, with SEFIN's book for the gateway's; the id of a note that was ordered is our reference."""

    at: datetime = DAY
    plan: Plan = field(default_factory=lambda: Plan(PEOPLE, 1, channels=("nacional",)))
    blows: Counter[Kind] = field(
        default_factory=lambda: Counter({Kind.KILL_WORKER: 1, Kind.KILL_WEB: 1, Kind.CERTIFICATE: 1})
    )
    orders: dict[str, tuple[Wish, int]] = field(default_factory=dict)  # wish and number, by reference
    series: Counter[str] = field(default_factory=Counter)

    channel: ClassVar[str] = "nacional"

    def wants(self, number: int) -> Wish:
        """Return the same wish, of a company of the national channel."""
        if number not in {EDITH, FRED}:
            return replace(wish(number), emitente=ISSUERS[number % 2])
        of_normal = replace(wish(number), emitente=ISSUERS[2])
        return replace(of_normal, trocado=of_normal.valor + 1) if number == EDITH else of_normal

    def order(self, wish: Wish, key: str, **changes: Any) -> str:
        """The house numbers a note."""
        self.orders[key] = replace(wish, **changes), self._next_number(wish)
        return key

    def settles(self, note_id: str, *, refused: bool = False) -> str:
        """SEFIN takes the DPS, or refuses it; returns the number."""
        w, number = self.orders[note_id]
        self.takes(signed(w, note_id, number, self.at))
        kind, data = self.gateway[-1][1:]
        assert (kind == "nfse.refused") is refused, data
        self.emissions.append([note_id, "rejeitado" if refused else "concluido"])
        if refused:
            self.gaps.add((w.emitente.cnpj, w.emitente.serie_rps or "", number))
            return ""
        self.kept.append([data["chave"], str(data["numero"]), data["chave"], "autorizado"])
        return str(data["numero"])

    def takes(self, dps: bytes, config: NacionalConfig = CONFIG) -> None:
        """Enter what SEFIN writes when a DPS comes."""
        self.enters(lambda sefin: sefin.submit(pack(dps)), config)

    def enters(self, happens: Callable[[SefinSimulator], Any], config: NacionalConfig = CONFIG) -> None:
        """Enter what SEFIN writes of something that happens there, after all that is in its book."""
        sefin = self._sefin(config)
        known = len(self.gateway)
        try:
            happens(sefin)
        except RefusedError as error:
            sefin.refusal(error, "/nfse")
        for record in sefin.ledger.of():
            if record.seq > known and record.kind != "refused":
                self.tell(self.gateway, record.kind, **record.data)

    def cancels(self, note_id: str, reference: str) -> None:
        """SEFIN registers the event that our request asks for."""
        key = self.issued(reference)["chave"]
        self.enters(lambda sefin: sefin.cancel_elsewhere(key))
        self.records_cancelled(key)

    def file(self, who: str, mime: str, name: str, what: tuple[str, str], more: dict[str, str]) -> None:
        """One document goes up to Meta and out: the authority's XML, or the page drawn of it."""
        reference, kind = what
        super().file(who, mime, name, what, more)
        media, xml = next(reversed(self.contents)), unpacked(self.issued(reference)["packed"])
        self.contents[media] = xml if kind == "xml" else page(xml)

    def exchanges(self, of: str, change: Callable[[Any], None] | None = None) -> str:
        """A second note of Edith's takes the place of the one that ``of`` became; returns the number."""
        w = replace(self.wants(EDITH), data=f"{DAY:%d/%m/%Y}")  # it keeps its day
        number = self._next_number(w)
        self.orders[SECOND] = w, number
        self.takes(signed(w, SECOND, number, self.at, change, replaces=self.issued(of)["chave"]))
        self.records_cancelled(self.issued(of)["chave"])
        self.emissions.append([SECOND, "concluido"])
        data = self.issued(SECOND)
        self.kept.append([data["chave"], str(data["numero"]), data["chave"], "autorizado"])
        return str(data["numero"])

    # finding

    def issued(self, reference: str) -> dict[str, Any]:
        """The fact of the note that a reference became."""
        w, number = self.orders[reference]
        identity = str(id_dps(intent(w, reference, number)))
        return next(d for _, kind, d in self.gateway if kind == "nfse.issued" and d["id_dps"] == identity)

    def place(self, reference: str) -> int:
        """Where in the book that fact is."""
        found = self.issued(reference)
        return next(place for place, (_, _, data) in enumerate(self.gateway) if data is found)

    # changing

    def again(self, reference: str, change: Callable[[Any], None], *, by: str | None = None) -> None:
        """SEFIN took another DPS than this one; ``change`` is given its root, ``by`` signs it."""
        w, number = self.orders[reference]
        place = self.place(reference)
        at, after = self.gateway[place][0], self.gateway[place + 1 :]
        del self.gateway[place:]
        self.takes(signed(w, reference, number, at, change, by=by), UNCHECKED)
        self.gateway[-1] = (at, *self.gateway[-1][1:])
        assert self.gateway[-1][1] == "nfse.issued", self.gateway[-1]
        self.gateway += after

    def rewrites(self, reference: str, old: str, new: str) -> None:
        """Somebody changed the document in the book."""
        data = self.issued(reference)
        xml = unpacked(data["packed"]).decode()
        assert old in xml
        data["packed"] = pack(xml.replace(old, new, 1).encode())

    def _sefin(self, config: NacionalConfig) -> SefinSimulator:
        facts: list[Fact] = list(self.gateway)
        moments = [at for at, _, _ in facts]
        ledger = Ledger(clock=lambda: moments.pop(0) if moments else self.at)
        for _, kind, data in facts:
            ledger.append(kind, **data)
        return SefinSimulator(authority(), config, ledger=ledger)


def intent(w: Wish, reference: str, number: int) -> DocumentoServico:
    """Return the invoice that a sound house makes of a wish."""
    issuer, row = w.emitente, companies()[w.tomador]
    said = {"15/09/2025": date(2025, 9, 15)}.get(w.data or "") or (date(2025, 9, 30) if w.competencia else DAY.date())
    columns = {name: value for name, value in asdict(issuer).items() if name in PRESTADOR}
    return DocumentoServico(
        id_integracao=reference,
        prestador=Prestador(
            **columns,
            municipio_ibge=issuer.municipio,
            aliquota=None,
            tributos_sn=Decimal(issuer.tributos_sn) if issuer.tributos_sn else None,
            tributos=_burden(issuer),
        ),
        tomador=Tomador(
            w.tomador,
            row["razao_social"],
            w.email,
            Endereco(
                logradouro=f"{row['descricao_tipo_de_logradouro']} {row['logradouro']}",
                numero=row["numero"],
                complemento=row["complemento"] or None,
                bairro=row["bairro"],
                codigo_cidade=str(row["codigo_municipio_ibge"]),
                cidade=row["municipio"],
                estado=row["uf"],
                cep=row["cep"],
            ),
        ),
        valor=w.valor,
        descricao=w.servico,
        competencia=said,
        rps=Rps(issuer.serie_rps or "", number),
    )


def _burden(issuer: Issuer) -> Tributos | None:
    parts = (issuer.tributos_federal, issuer.tributos_estadual, issuer.tributos_municipal)
    return Tributos(*(Decimal(part or 0) for part in parts)) if issuer.regime == "normal" else None


PRESTADOR = frozenset({"cnpj", "razao_social", "inscricao_municipal", "regime", "codigo_servico", "cnae"})


def signed(
    w: Wish,
    reference: str,
    number: int,
    at: datetime,
    change: Callable[[Any], None] | None = None,
    *,
    by: str | None = None,
    replaces: str = "",
) -> bytes:
    """Return the signed DPS of a wish; ``by`` is another company's CNPJ, "" leaves it unsigned.

    ``replaces`` is the key of the note whose place it takes.
    """
    invoice = intent(w, reference, number)
    if replaces:
        invoice = replace(invoice, substitui=Substituicao(replaces, MOTIVO))
    xml = build(invoice, circumstances(invoice, Ambiente.HOMOLOGACAO, at))
    if change is not None:
        root = etree.fromstring(xml)
        change(root)
        xml = etree.tostring(root, xml_declaration=True, encoding="UTF-8")
    if by == "":
        return xml
    made = authority().company(by or w.emitente.cnpj, begins=DAY - timedelta(days=1))
    identity = etree.fromstring(xml)[0].get("Id")
    return sign(xml, identity, made.rsa, made.certificate)


def element(root: Any, path: str) -> Any:
    """Return the element of ``infDPS`` at a path like ``toma.xNome``."""
    found = root.find("/".join(f"{{{NS}}}{name}" for name in ("infDPS", *path.split("."))))
    assert found is not None, path
    return found


def unpacked(packed: str) -> bytes:
    return gzip.decompress(base64.b64decode(packed))


@cache
def page(xml: bytes) -> bytes:
    """Return the DANFSe of a note, drawn in this process."""
    return draw(xml, None)


def exchange(stage: NationalStage, *, of: str = FIRST, change: Callable[[Any], None] | None = None) -> None:
    """Edith corrects the amount of her note, and another one takes the place of it, or of somebody else's."""
    w = stage.wants(EDITH)
    session = SECOND.partition("-")[0]
    stage.writes(w.who, "corrige a nota")
    stage.shows(w, session, 1, data=f"{DAY:%d/%m/%Y}")
    stage.taps(w.who, f"confirmar:{session}:1")
    stage.delivers(w.who, SECOND, stage.exchanges(of, change), w.valor)
    stage.sends(w.who, {"type": "text", "text": {"body": f"A sua nota {REPLACED} e não vale mais."}})
    stage.sessions.append([session, "aprovado", "webhook_success"])


@cache
def _before() -> NationalStage:
    stage = NationalStage()
    for number in range(PEOPLE):
        talk(stage, number)
    return stage


@cache
def _good() -> NationalStage:
    stage = before()
    exchange(stage)
    return stage


def before() -> NationalStage:
    """Return the same storm, before Edith's note is replaced."""
    return copy.deepcopy(_before())


def good() -> NationalStage:
    """Return a storm in which all is as it should be, free to be changed."""
    return copy.deepcopy(_good())
