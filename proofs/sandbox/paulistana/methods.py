"""What each method of the simulated city does with a message that was read: sending, testing, asking, cancelling."""

from __future__ import annotations

import base64
import binascii
from dataclasses import replace
from datetime import date, timedelta
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Final

from lxml import etree

from proofs.sandbox.faults import Fault
from proofs.sandbox.nacional.authority import holder
from proofs.sandbox.paulistana import wire
from proofs.sandbox.paulistana.codes import Evento, RefusedError
from proofs.sandbox.paulistana.rps import MEI, Chave, Rps, cancel_string, ccm_of, document, written_ccm
from proofs.sandbox.paulistana.rules import Taxpayer, broken, city_rate, remarks, wrong_layout
from proofs.sandbox.plugnotas.model import BRASILIA

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from cryptography import x509

    from proofs.sandbox.paulistana.lotenfe import PaulistanaSimulator
    from proofs.sandbox.paulistana.rps import Note

_MOST_DAYS: Final = 31
_ON_CANCEL: Final = frozenset({"323", "386", "324"})


class Call:
    """One message that the city has read, and what it says besides refusing it."""

    def __init__(
        self, city: PaulistanaSimulator, versao: int, root: Any, signed_by: x509.Certificate, sha256: str
    ) -> None:
        self.city, self.config = city, city.config
        self.versao, self.root, self.signed_by, self.sha256 = versao, root, signed_by, sha256
        self.remetente = document(root.find("Cabecalho/CPFCNPJRemetente")) or ""
        self.alertas: list[Evento] = []
        self.rest: list[Any] = []  # what stands after alerts and errors

    def run(self, operation: wire.Operation) -> None:
        """Do what the method does. Raises ``RefusedError``."""
        methods = {
            "EnvioRPS": self._send,
            "TesteEnvioLoteRPS": self._test,
            "ConsultaNFe": self._query,
            "ConsultaNFeEmitidas": self._period,
            "CancelamentoNFe": self._cancellation,
            "ConsultaCNPJ": self._register,
        }
        methods[operation.name]()

    def sent(self) -> list[str | int] | None:
        """Return the key of the RPS in a message that sends one."""
        key = self.root.find("RPS/ChaveRPS")
        return None if key is None else list(Chave.of(key))

    # who asks, and about whom

    def _taxpayer(self, ccm: str) -> Taxpayer:
        """Return who has a CCM. Raises ``RefusedError``: 1202."""
        known = {number.lstrip("0"): one for number, one in self.config.taxpayers.items()}.get(ccm)
        if known is None and not self.config.strangers:
            raise RefusedError(Evento("1202"))
        return known or Taxpayer(self.remetente)

    def _own(self, taxpayer: Taxpayer) -> None:
        """Refuse a message that is not signed by the taxpayer that it is about: 1107."""
        if not self.city.same(holder(self.signed_by), taxpayer.cnpj):
            raise RefusedError(Evento("1107"))

    def _layout(self, taxpayer: Taxpayer) -> None:
        """Refuse a query in the other layout: 641."""
        code = wrong_layout(self.versao, self.city.today(), taxpayer, self.config, query=True)
        if code is not None:
            raise RefusedError(Evento.told(code))

    # EnvioRPS and TesteEnvioLoteRPS

    def _send(self) -> None:
        rps = Rps.of(self.root.find("RPS"), self.versao)
        taxpayer = self._taxpayer(rps.chave.ccm)
        self._own(taxpayer)
        erros = self._refusals(rps, taxpayer)
        if setting := self.city.faults.strike(Fault.REJECT, str(rps.chave), text=rps.descricao):
            erros.append(Evento.forced(setting.message, "306", rps.chave.element(self.versao)))
        if erros:
            raise RefusedError(*erros)
        made = self.city.of_rps(rps.chave)
        if any(note.by == "site" and not note.cancelled for note in made):
            self.alertas.append(Evento.told("216", chave=rps.chave.element(self.versao)))
            return
        self.alertas += remarks(rps, taxpayer, self.config)
        for old in (note for note in made if not note.cancelled):
            self.city.cancel(old, "substituicao")
            key = rps.chave.element(self.versao)
            self.alertas.append(Evento.told("217", old.numero, rps.chave.numero, rps.chave.serie, chave=key))
        note = self.city.write(
            rps.chave.ccm,
            taxpayer,
            rps.element,
            versao=self.versao,
            valor=rps.valor,
            deducoes=rps.deducoes,
            aliquota=city_rate(rps, self.config),
            by="ws",
            sha256=self.sha256,
            serie=rps.chave.serie,
            rps=rps.chave.numero,
            tomador=rps.tomador,
            descricao=rps.descricao,
        )
        if self.city.faults.strike(Fault.NO_NUMBER, str(rps.chave)):
            return
        said = rps.chave
        if self.city.faults.strike(Fault.OTHER_REFERENCE, str(rps.chave)):
            said = said._replace(numero=said.numero + 1)
        pair = etree.Element("ChaveNFeRPS")
        pair.extend([note.key(self.versao), said.element(self.versao)])
        self.rest.append(pair)

    def _test(self) -> None:
        """Hold a lot against the rules; nothing is made of it, whatever it says."""
        every = [Rps.of(element, self.versao) for element in self.root.findall("RPS")]
        erros = list(self._lot(every))
        for rps in every:
            taxpayer = self._taxpayer(rps.chave.ccm)
            self._own(taxpayer)
            erros += self._refusals(rps, taxpayer)
            self.alertas += remarks(rps, taxpayer, self.config)
        if erros:
            raise RefusedError(*erros)

    def _lot(self, every: Sequence[Rps]) -> Iterable[Evento]:
        head = self.root.find("Cabecalho")
        since, until = (date.fromisoformat(head.findtext(name)) for name in ("dtInicio", "dtFim"))
        if len({rps.chave.ccm for rps in every}) > 1:
            yield Evento.told("1201")
        if until > self.city.today():
            yield Evento.told("107", f"{self.city.today():%d/%m/%Y}")
        if until < since:
            yield Evento.told("108")
        if int(head.findtext("QtdRPS")) != len(every):
            yield Evento.told("1203", len(every))
        for code, name, total in (
            ("1204", "ValorTotalServicos", sum(rps.valor for rps in every)),
            ("1205", "ValorTotalDeducoes", sum(rps.deducoes for rps in every)),
        ):
            if (said := head.findtext(name)) is not None and Decimal(said) != total:
                yield Evento.told(code, total)
        seen: set[Chave] = set()
        for rps in every:
            if rps.chave in seen:
                yield Evento.told("215", rps.chave.numero, rps.chave.serie)
            seen.add(rps.chave)
            if not since <= rps.emissao <= until:
                yield Evento.told("207", since, until, chave=rps.chave.element(self.versao))

    def _refusals(self, rps: Rps, taxpayer: Taxpayer) -> list[Evento]:
        """Return what keeps a note from being made, with the key of its RPS in each."""
        erros = list(broken(rps, taxpayer, self.city.today(), self.config))
        if not _signs(self.signed_by, rps.element.findtext("Assinatura"), rps.signed_string):
            erros.append(Evento.told("1206", rps.signed_string))
        erros += self._used(rps)
        return [replace(erro, chave=rps.chave.element(self.versao)) for erro in erros]

    def _used(self, rps: Rps) -> Iterable[Evento]:
        """Yield why the RPS's earlier notes cannot be substituted."""
        made = self.city.of_rps(rps.chave)
        if made and all(note.cancelled for note in made):
            yield Evento.told("223")
        limit = self.config.resend_within
        for note in (note for note in made if not note.cancelled and note.by == "ws"):
            late = limit is not None and self.city.ledger.now() - note.at > timedelta(seconds=limit)
            if code := note.mark or ("324" if late else None):
                yield Evento.told(code, note.numero) if code == "338" else Evento.told(code)

    # the queries

    def _query(self) -> None:
        """Answer by RPS or by note: a note younger than the lag is not there yet."""
        every = self.root.findall("Detalhe/*")
        if len({ccm_of(key) for key in every}) > 1:
            raise RefusedError(Evento("1401"))
        self._layout(self._taxpayer(ccm_of(every[0])))
        absent = []
        for key in every:
            found = [
                note for note in self._found(key) if self.city.same(note.prestador, self.remetente) and self._seen(note)
            ]
            self.rest += [note.element(self.versao) for note in found]
            if not found:
                absent.append(Evento("1106", chave=_copy(key)))
        if absent:
            raise RefusedError(*absent)

    def _found(self, key: Any) -> list[Note]:
        if key.tag == "ChaveRPS":
            made = self.city.of_rps(Chave.of(key))
            return made[-1:] if self.config.substituted == "ultima" else made
        note = self.city.notes.get((ccm_of(key), int(key.findtext("NumeroNFe"))))
        code = key.findtext("CodigoVerificacao")
        return [note] if note is not None and code in {None, note.verificacao} else []

    def _seen(self, note: Note) -> bool:
        lag = self.city.faults.setting(Fault.READ_LAG)
        young = lag is not None and note.at > self.city.ledger.now() - timedelta(seconds=lag.seconds)
        return not (young and self.city.faults.strike(Fault.READ_LAG, f"{note.ccm} {note.numero}"))

    def _period(self) -> None:
        """Answer the notes of a period, fifty a page; a page that is not there has none."""
        head = self.root.find("Cabecalho")
        since, until = (date.fromisoformat(head.findtext(name)) for name in ("dtInicio", "dtFim"))
        about, wanted = document(head.find("CPFCNPJ")), (head.findtext("Inscricao") or "").lstrip("0")
        known = next((one for one in self.config.taxpayers.values() if one.cnpj == about), None)
        taxpayer = known or Taxpayer(about or "")
        self._own(taxpayer)
        self._layout(taxpayer)
        if (until - since).days >= _MOST_DAYS:
            raise RefusedError(Evento("1403"))
        found = [
            note
            for note in self.city.notes.values()
            if note.prestador == about
            and wanted in {"", note.ccm}
            and since <= note.at.astimezone(BRASILIA).date() <= until
            and (not self.config.lag_hides_listing or self._seen(note))
        ]
        found.sort(key=lambda note: note.cancelled or note.at)
        start = (int(head.findtext("NumeroPagina")) - 1) * self.config.page
        self.rest += [note.element(self.versao) for note in found[max(start, 0) : max(start, 0) + self.config.page]]

    def _register(self) -> None:
        """Answer the CCMs of a CNPJ, and whether each may issue."""
        asked = document(self.root.find("CNPJContribuinte")) or ""
        known = {number.lstrip("0"): one for number, one in self.config.taxpayers.items() if one.cnpj == asked}
        for ccm in dict.fromkeys((*known, *(note.ccm for note in self.city.notes.values() if note.prestador == asked))):
            detail = etree.Element("Detalhe")
            etree.SubElement(detail, "InscricaoMunicipal").text = written_ccm(ccm, self.versao)
            may = known.get(ccm, Taxpayer(asked))
            etree.SubElement(detail, "EmiteNFe").text = "true" if may.refused is None and may.regime != MEI else "false"
            self.rest.append(detail)
        if not self.rest:
            self.alertas.append(Evento("1405"))

    # CancelamentoNFe

    def _cancellation(self) -> None:
        details = self.root.findall("Detalhe")
        keys = [(ccm_of(one.find("ChaveNFe")), int(one.findtext("ChaveNFe/NumeroNFe"))) for one in details]
        if len({ccm for ccm, _ in keys}) > 1:
            raise RefusedError(Evento("1303"))
        taxpayer = self._taxpayer(keys[0][0])
        self._own(taxpayer)
        self._layout(taxpayer)
        erros, good = [], {}
        for key, detail in zip(keys, details, strict=True):
            note = self.city.notes.get(key)
            code = self._uncancellable(note, key, detail.findtext("AssinaturaCancelamento"))
            named = _copy(detail.find("ChaveNFe"))
            if code is not None:
                erros.append(Evento.forced(code, code, named))
            elif note is not None and note.cancelled:
                told = f"{note.cancelled.astimezone(BRASILIA):%d/%m/%Y %H:%M:%S}"
                self.alertas.append(Evento.told("1301", told, chave=named))
            elif note is not None:
                good[key] = note
        if len(set(keys)) < len(keys):
            self.alertas.append(Evento("1302"))
        if not erros or self.root.findtext("Cabecalho/transacao") in {"false", "0"}:
            for apt in good.values():
                self.city.cancel(apt, "ws")
        if erros:
            raise RefusedError(*erros)

    def _uncancellable(self, note: Note | None, key: tuple[str, int], signature: str | None) -> str | None:
        """Return why a note is not cancelled. Which code an unknown note has is in no sheet: 1304."""
        if not _signs(self.signed_by, signature, cancel_string(*key, self.config.cancel_lengths[self.versao])):
            return "1305"
        if note is None or not self.city.same(note.prestador, holder(self.signed_by)):
            return "1304"
        if note.cancelled:
            return None
        if note.by != "ws":
            return "1306"
        limit = self.config.cancel_within
        if limit is not None and self.city.ledger.now() - note.at > timedelta(seconds=limit):
            return "324"
        if setting := self.city.faults.strike(Fault.REJECT_CANCEL, f"{note.ccm} {note.numero}"):
            return setting.message or "323"
        return note.mark if note.mark in _ON_CANCEL else None


def _signs(certificate: x509.Certificate, signature: str | None, text: str) -> bool:
    """Say whether the base64 in a document signs a string with the key of its own signer."""
    try:
        return wire.verifies(certificate, base64.b64decode(signature or ""), text.encode("ascii", "replace"))
    except (ValueError, binascii.Error):
        return False


def _copy(element: Any) -> Any:
    made = etree.Element(element.tag)
    for child in element:
        etree.SubElement(made, child.tag).text = child.text
    return made
