"""Makes and signs documents in processes of their own, bounded, which keep no key longer than one document.

A process is given one request a line and answers one line; it ends with its input. Its parent holds two at most.
"""

from __future__ import annotations

import asyncio
import base64
import json
import os
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import date, datetime
from typing import Annotated, Any, Final, Literal, assert_never

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey
from cryptography.hazmat.primitives.serialization import load_pem_private_key
from pydantic import Base64Bytes, BaseModel, ConfigDict, StringConstraints, TypeAdapter, ValidationError

from gateway import process_apart
from gateway.certificate.connections import OpenA1
from gateway.keys import ChaveNFe, ChaveNFSe, ChaveRPS
from gateway.nacional import dps, event, payload
from gateway.nacional.layouts import Layout, layout_for
from gateway.nacional.signature import sign
from gateway.nfe import document, sale
from gateway.paulistana import rps
from state_machine.cancellation.machine import Codigo, MotivoCancelamento
from state_machine.documents import goods, load
from state_machine.protocol.channel import Ambiente
from state_machine.values.documents import CNPJ
from state_machine.values.errors import ProsaError
from state_machine.values.local_time import SAO_PAULO

DEADLINE: Final = 10.0  # seconds for one document; it takes some ten milliseconds, and the first a second
MOST: Final = 2  # processes: as many as the cores that a worker is given
NICENESS: Final = 5  # behind who answers people: some ten milliseconds may wait, an event loop may not
DOCUMENTS: Final = 500  # of one process, which then makes room for a new one
# 500 documents take a second of CPU, as does the start; schemas, bindings and lxml take a hundred million bytes.
LIMITS: Final = process_apart.limits(cpu=60, memory=768 * 1024 * 1024)
WORDS: Final = process_apart.words("gateway.nacional.processes.signing_process")
_LONGEST_LINE: Final = 1024 * 1024  # bytes; a signed document has some kB


class SigningError(ProsaError):
    """No document was made, and nothing is known of why: the process died, was late or talked nonsense."""

    code = "signing_failed"


@dataclass(frozen=True, slots=True)
class Signed:
    """The bytes to send."""

    xml: bytes


@dataclass(frozen=True, slots=True)
class Unfit:
    """What was asked for makes no document; the text begins with the field which is wrong."""

    porque: str


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", hide_input_in_errors=True)


class _Made(_Strict):
    xml: Base64Bytes


class _Unfit(_Strict):
    porque: Annotated[str, StringConstraints(min_length=1, max_length=4000)]


class _Fit(_Strict):
    serve: Literal[True]


_ANSWER: Final[TypeAdapter[_Made | _Unfit | _Fit]] = TypeAdapter(_Made | _Unfit | _Fit)


@dataclass(slots=True)
class _Child:
    process: asyncio.subprocess.Process
    made: int = 0


@dataclass(slots=True)
class Signers:
    """The processes of one channel; ``words`` starts one, ``deadline`` in seconds bounds one document."""

    words: Sequence[str] = WORDS
    most: int = MOST
    documents: int = DOCUMENTS
    deadline: float = DEADLINE
    _idle: list[_Child] = field(default_factory=list)
    _places: asyncio.Semaphore = field(init=False)

    def __post_init__(self) -> None:
        self._places = asyncio.Semaphore(self.most)

    async def dps(
        self, stored: bytes, ambiente: Ambiente, agora: datetime, with_: OpenA1, nt009: date | None = None
    ) -> Signed | Unfit:
        """Make the signed DPS of a stored invoice (``payload.encode``), of NT 009 from that day on.

        Raises ``SigningError``.
        """
        return await self._signed({"dps": stored.decode(), **_shape(nt009), **_common(ambiente, agora, with_)})

    async def canary(
        self, stored: bytes, ambiente: Ambiente, agora: datetime, with_: OpenA1, nt009: date | None
    ) -> Signed | Unfit:
        """Make the signed DPS of an invoice that can become no note. Raises ``SigningError``."""
        asked = {"canario": True, "dps": stored.decode(), **_shape(nt009), **_common(ambiente, agora, with_)}
        return await self._signed(asked)

    async def unsigned(
        self, stored: bytes, ambiente: Ambiente, agora: datetime, nt009: date | None = None
    ) -> Unfit | None:
        """Say what keeps a stored invoice from becoming a DPS; no key is needed. Raises ``SigningError``."""
        when = {"ambiente": ambiente.value, "agora": agora.isoformat()}
        answer = await self._ask({"conferir": stored.decode(), **_shape(nt009), **when})
        return answer if isinstance(answer, Unfit) else None

    async def cancellation(
        self, chave: str, autor: str, motivo: MotivoCancelamento, ambiente: Ambiente, agora: datetime, with_: OpenA1
    ) -> Signed | Unfit:
        """Make the signed request to cancel a note. Raises ``SigningError``."""
        about = {"nota": chave, "autor": autor, "codigo": motivo.codigo.value, "texto": motivo.texto}
        return await self._signed({"cancelamento": about, **_common(ambiente, agora, with_)})

    async def city(self, message: Mapping[str, Any], with_: OpenA1) -> Signed | Unfit:
        """Make a signed message to the city of São Paulo: what and of whom, as JSON. Raises ``SigningError``."""
        return await self._signed({"municipio": dict(message), **_pem(with_)})

    async def goods(self, message: Mapping[str, Any], with_: OpenA1) -> Signed | Unfit:
        """Make a signed message about goods likewise. Raises ``SigningError``."""
        return await self._signed({"mercadoria": dict(message), **_pem(with_)})

    async def aclose(self) -> None:
        """End the processes that are idle; one at work ends with its document."""
        self.documents = 0
        while self._idle:
            await _end(self._idle.pop())

    async def _signed(self, asked: dict[str, Any]) -> Signed | Unfit:
        answer = await self._ask(asked)
        if answer is None:
            raise SigningError("invalid answer")
        return answer

    async def _ask(self, asked: dict[str, Any]) -> Signed | Unfit | None:
        line = json.dumps(asked).encode() + b"\n"
        async with self._places:
            child = await self._child()
            try:
                async with asyncio.timeout(self.deadline):
                    answer = _ANSWER.validate_json(await _exchange(child, line))
            except (TimeoutError, OSError, ValueError) as error:  # pydantic's own error is a ValueError
                await _end(child)
                reason = "invalid answer" if isinstance(error, ValidationError) else type(error).__name__
                raise SigningError(reason) from None  # its text may hold what was asked
            except BaseException:
                await _end(child)
                raise
            child.made += 1
            if child.made < self.documents:
                self._idle.append(child)
            else:
                await _end(child)
        match answer:
            case _Made(xml=xml):
                return Signed(xml)
            case _Unfit(porque=porque):
                return Unfit(porque)
            case _Fit():
                return None
            case _:
                assert_never(answer)

    async def _child(self) -> _Child:
        while self._idle:
            child = self._idle.pop()
            if child.process.returncode is None:
                return child
        try:
            process = await asyncio.create_subprocess_exec(
                *self.words,
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.DEVNULL,
                env=process_apart.ENVIRONMENT,
                limit=_LONGEST_LINE,
                start_new_session=True,  # Ctrl-C ends the parent, which lets what is in flight finish
            )
        except OSError as error:
            raise SigningError(type(error).__name__) from error
        return _Child(process)


def _shape(nt009: date | None) -> dict[str, str]:
    return {} if nt009 is None else {"nt009": nt009.isoformat()}


def _common(ambiente: Ambiente, agora: datetime, with_: OpenA1) -> dict[str, str]:
    return {
        "ambiente": ambiente.value,
        "agora": agora.isoformat(),
        **_pem(with_),
    }


def _pem(with_: OpenA1) -> dict[str, str]:
    return {"chave": with_.chave.decode(), "cadeia": with_.cadeia.decode()}


async def _exchange(child: _Child, line: bytes) -> bytes:
    writer, reader = child.process.stdin, child.process.stdout
    if writer is None or reader is None:
        raise BrokenPipeError
    writer.write(line)
    await writer.drain()
    return await reader.readline()


async def _end(child: _Child) -> None:
    if child.process.returncode is None:
        with suppress(ProcessLookupError):
            child.process.kill()
    if child.process.stdin is not None:
        child.process.stdin.close()
    await child.process.wait()


def made(asked: dict[str, Any]) -> dict[str, Any]:
    """Answer one request: ``xml`` in base64, ``serve`` for a check that found nothing, or ``porque`` there is none."""
    try:
        if "municipio" in asked:
            return {"xml": base64.b64encode(_to_the_city(asked["municipio"], *_identity(asked))).decode()}
        if "mercadoria" in asked:
            return {"xml": base64.b64encode(_of_goods(asked["mercadoria"], *_identity(asked))).decode()}
        ambiente, agora = Ambiente(asked["ambiente"]), datetime.fromisoformat(asked["agora"])
        if "conferir" in asked:
            _dps(asked["conferir"], ambiente, agora, asked.get("nt009"))
            return {"serve": True}
        return {"xml": _signed(asked, ambiente, agora)}
    except ValueError as error:
        return {"porque": (str(error) or type(error).__name__)[:1000]}


def _dps(stored: str, ambiente: Ambiente, agora: datetime, nt009: str | None) -> tuple[str, bytes, Layout]:
    intent = load(stored.encode())
    facts = payload.circumstances(intent, ambiente, agora, date.fromisoformat(nt009) if nt009 else None)
    return str(dps.id_dps(intent)), dps.build(intent, facts), facts.layout


def _cancellation(about: dict[str, str], ambiente: Ambiente, agora: datetime) -> tuple[str, bytes, Layout]:
    layout = layout_for(ambiente, agora.astimezone(SAO_PAULO).date())
    identity, xml = event.build_cancellation(
        ChaveNFSe.parse(about["nota"]),
        CNPJ(about["autor"]),
        MotivoCancelamento(Codigo(about["codigo"]), about["texto"]),
        layout=layout,
        ambiente=ambiente,
        dh_evento=agora - payload.BACK,
    )
    return str(identity), xml, layout


def _signed(asked: dict[str, Any], ambiente: Ambiente, agora: datetime) -> str:
    if "dps" in asked:
        reference, xml, layout = _dps(asked["dps"], ambiente, agora, asked.get("nt009"))
        if asked.get("canario"):
            xml = dps.impossible(xml)
    else:
        reference, xml, layout = _cancellation(asked["cancelamento"], ambiente, agora)
    key, certificate = _identity(asked)
    return base64.b64encode(sign(xml, reference, key, certificate, layout.digest)).decode()


def _to_the_city(asked: dict[str, Any], key: RSAPrivateKey, certificate: x509.Certificate) -> bytes:
    pair, leiaute, cnpj = (key, certificate), asked["leiaute"], asked.get("cnpj", "")
    if "envio" in asked:
        made = rps.recibo_of(load(asked["envio"].encode()), date.fromisoformat(asked["hoje"]))
        return rps.envio(made, leiaute, *pair)
    if "teste" in asked:
        made = rps.recibo_of(load(asked["teste"].encode()), date.fromisoformat(asked["hoje"]))
        return rps.lot_for_test(made, leiaute, *pair)
    if "inscricoes" in asked:
        return rps.consulta_cnpj(asked["inscricoes"], leiaute, *pair)
    if "consulta" in asked:
        return rps.consulta(ChaveRPS.parse(asked["consulta"]), cnpj, leiaute, *pair)
    if "nota" in asked:
        return rps.consulta_nota(asked["nota"], asked["numero"], cnpj, leiaute, *pair)
    if "periodo" in asked:
        days = date.fromisoformat(asked["inicio"]), date.fromisoformat(asked["fim"])
        return rps.periodo(asked["periodo"], *days, asked["pagina"], leiaute, *pair)
    digits = asked["digitos"]
    return rps.cancelamento(asked["cancelamento"], asked["numero"], cnpj, leiaute, *pair, digitos=digits)


def _of_goods(asked: dict[str, Any], key: RSAPrivateKey, certificate: x509.Certificate) -> bytes:
    ambiente = Ambiente(asked["ambiente"])
    if "nota" in asked:
        maker = asked["maker"]
        if maker and maker["csrt"]:
            maker["csrt"] = tuple(maker["csrt"])
        made = sale.note_of(
            goods(load(asked["nota"].encode())),
            ambiente,
            datetime.fromisoformat(asked["emissao"]),
            sale.Maker(**maker) if maker else None,
        )
        csc = (str(asked["csc"][0]), str(asked["csc"][1])) if asked["csc"] else None
        rules = sale.Rules(fim=date.fromisoformat(asked["fim"]) if asked["fim"] else None, csc=csc)
        return document.signed(made, key, certificate, rules)
    with_ = document.Signer(key, certificate, asked["municipio"], ambiente)
    if "inutilizar" in asked:
        cnpj, modelo, serie, first, end, motivo = asked["inutilizar"]
        return document.inutilizacao(cnpj, modelo, serie, range(first, end), motivo, asked["ano"], with_)
    quando = datetime.fromisoformat(asked["quando"])
    if "correcao" in asked:
        return document.correcao(ChaveNFe.parse(asked["correcao"]), asked["texto"], asked["sequencia"], quando, with_)
    chave = ChaveNFe.parse(asked["cancelamento"])
    return document.cancelamento(chave, asked["protocolo"], asked["motivo"], quando, with_)


def _identity(asked: dict[str, Any]) -> tuple[RSAPrivateKey, x509.Certificate]:
    """Read key and certificate; what is none ends the process, for it is no fault of the document."""
    try:
        # Its numbers were checked when the certificate was taken, and again they would cost more than all the rest.
        key = load_pem_private_key(asked["chave"].encode(), password=None, unsafe_skip_rsa_key_validation=True)
        certificate = x509.load_pem_x509_certificate(asked["cadeia"].encode())
    except ValueError as error:
        raise TypeError("no key or no certificate") from error
    if not isinstance(key, RSAPrivateKey):
        raise TypeError("a key that is not RSA")
    return key, certificate


def main() -> None:
    """Answer each line of standard input; what goes wrong ends the process, which says enough."""
    process_apart.restrict(LIMITS)
    for at, line in enumerate(sys.stdin.buffer):
        sys.stdout.write(json.dumps(made(json.loads(line))) + "\n")
        sys.stdout.flush()
        if at == 0:  # the first has a second of start behind it, which the deadline leaves no room to draw out
            os.nice(NICENESS)


if __name__ == "__main__":
    main()
