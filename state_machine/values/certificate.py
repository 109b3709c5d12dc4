"""A company's A1 certificate as a value, and why a file is not taken for one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date, datetime
from enum import StrEnum
from typing import Final

from state_machine.values.errors import ProsaError
from state_machine.values.local_time import SAO_PAULO

LARGEST_FILE: Final = 64 * 1024  # bytes; an A1 with its chain has 4 to 12 thousand
LONGEST_PASSWORD: Final = 256  # characters; those of certificate authorities have 4 to 64
SMALLEST_KEY: Final = 2048  # bits of an RSA modulus; DOC-ICP-01.01 asks no less of a company's certificate
LARGEST_KEY: Final = 4096  # what DOC-ICP-01.01 knows; twice as long signs six times as slowly


_ENDINGS: Final = (".pfx", ".p12")
_MIMES: Final = frozenset({"application/x-pkcs12", "application/pkcs12", "application/x-pkcs-12"})


def is_certificate_file(message: Mapping[str, object]) -> bool:
    """Tell whether a WhatsApp message is a document that calls itself a PKCS #12 file."""
    document = message.get("document")
    if message.get("type") != "document" or not isinstance(document, dict):
        return False
    name, mime = str(document.get("filename", "")), str(document.get("mime_type", ""))
    return name.strip().lower().endswith(_ENDINGS) or mime.partition(";")[0].strip().lower() in _MIMES


@dataclass(frozen=True, slots=True)
class A1:
    """A certificate that passed every check, with its key; neither key nor chain is shown by ``repr``.

    ``chave``: the private key, PEM PKCS #8, in the open. ``cadeia``: PEM, the company's certificate first, then its
    issuers. ``impressao``: SHA-256 of the certificate's DER, 64 hex digits. ``valido_de`` and ``valido_ate``: aware
    UTC. ``cnpj``: bare, as the certificate names it. ``titular``: the common name of its subject.
    """

    chave: bytes = field(repr=False)
    cadeia: bytes = field(repr=False)
    impressao: str
    valido_de: datetime
    valido_ate: datetime
    cnpj: str
    titular: str

    @property
    def vence(self) -> date:
        """The last day, in Brazil, on which it is good at least in part."""
        return self.valido_ate.astimezone(SAO_PAULO).date()


class Refusal(StrEnum):
    """Why a file is not taken."""

    TOO_LARGE = "arquivo_grande"
    NOT_PKCS12 = "nao_e_pkcs12"
    LEGACY = "cifra_antiga"
    TOO_MUCH_WORK = "trabalho_demais"
    WRONG_PASSWORD = "senha_errada"  # noqa: S105 - the name of a refusal
    NO_KEY = "sem_chave"
    SEVERAL_KEYS = "varias_chaves"
    NO_CERTIFICATE = "sem_certificado"
    AUTHORITY = "de_autoridade"
    NOT_RSA = "nao_e_rsa"
    UNKNOWN_ISSUER = "emissor_desconhecido"
    UNCHECKED_ISSUER = "emissor_nao_conferido"
    SMALL_KEY = "chave_curta"
    LARGE_KEY = "chave_longa"
    NOT_COMPANY = "nao_e_ecnpj"
    OTHER_COMPANY = "de_outra_empresa"
    NOT_YET = "ainda_nao_vale"
    EXPIRED = "vencido"
    ALREADY_OURS = "ja_guardado"
    UNREADABLE = "ilegivel"


_NEW = "Envie o certificado A1 da empresa (e-CNPJ), o arquivo .pfx ou .p12 que a certificadora entregou."
_TEXTS: Final = {
    Refusal.TOO_LARGE: (f"O arquivo passa de {LARGEST_FILE // 1024} KB, e um certificado A1 tem uns 10 KB.", _NEW),
    Refusal.NOT_PKCS12: ("O arquivo não é um certificado A1 (PKCS #12), ou está incompleto.", _NEW),
    Refusal.LEGACY: (
        "O arquivo usa uma cifra antiga (RC2, RC4 ou DES), que não é mais aceita; a senha nem foi conferida.",
        "Exporte o certificado de novo, com a chave privada e criptografia AES256, ou peça à certificadora um atual.",
    ),
    Refusal.TOO_MUCH_WORK: (
        "Abrir este arquivo pede contas demais: a proteção da senha dele foi feita com milhões de voltas.",
        "Exporte o certificado de novo, com a chave privada e as opções comuns, ou peça à certificadora o original.",
    ),
    Refusal.WRONG_PASSWORD: (
        "A senha não abre este arquivo.",
        "Confira maiúsculas, minúsculas e espaços, e tente de novo com a senha criada junto com o arquivo.",
    ),
    Refusal.NO_KEY: (
        "O arquivo não tem a chave privada, e sem ela nada pode ser assinado.",
        "Exporte o certificado de novo com a chave privada.",
    ),
    Refusal.SEVERAL_KEYS: (
        "O arquivo tem mais de uma chave privada.",
        "Exporte só o certificado da empresa, com a chave dele.",
    ),
    Refusal.NO_CERTIFICATE: (
        "O arquivo tem uma chave, mas não o certificado dela.",
        "Exporte de novo o certificado junto com a chave privada.",
    ),
    Refusal.AUTHORITY: ("O certificado é de uma autoridade certificadora, não de uma empresa.", _NEW),
    Refusal.NOT_RSA: ("A chave do certificado não é RSA, a única com que as notas são assinadas.", _NEW),
    Refusal.UNKNOWN_ISSUER: ("Nenhuma autoridade da ICP-Brasil responde por este certificado.", _NEW),
    Refusal.UNCHECKED_ISSUER: (
        "A empresa já tem um certificado, que vale até {}, e aqui não há como conferir quem emitiu este.",
        "Peça a quem cuida da Prosa que ponha as raízes da ICP-Brasil em PROSA_ICP_BRASIL_CA_FILE.",
    ),
    Refusal.SMALL_KEY: (f"A chave RSA do certificado tem menos de {SMALLEST_KEY} bits.", _NEW),
    Refusal.LARGE_KEY: (
        f"A chave RSA do certificado tem mais de {LARGEST_KEY} bits; nenhuma certificadora da ICP-Brasil dá uma assim.",
        _NEW,
    ),
    Refusal.NOT_COMPANY: ("O certificado não é de empresa: falta nele o CNPJ do titular.", _NEW),
    Refusal.OTHER_COMPANY: (
        "O certificado é de outra empresa, a de CNPJ {}.",
        "Envie o desta empresa; o da matriz serve para as filiais.",
    ),
    Refusal.NOT_YET: ("O certificado ainda não vale: começa em {}.", "Envie de novo a partir desse dia."),
    Refusal.EXPIRED: (
        "O certificado venceu em {}.",
        "Emita um novo com a certificadora e envie o arquivo dele.",
    ),
    Refusal.ALREADY_OURS: (
        "Este certificado já está guardado para esta empresa; vale até {}.",
        "Não é preciso fazer nada. Se a ideia era renovar, envie o arquivo do certificado novo.",
    ),
    Refusal.UNREADABLE: (
        "Não foi possível ler este arquivo com segurança; a leitura foi interrompida.",
        "Exporte o certificado de novo e tente outra vez. Se repetir, o arquivo está danificado.",
    ),
}


class CertificateRefusedError(ProsaError, ValueError):
    """A certificate is not taken; the message says in pt-BR what happened, what was kept and what to do.

    ``detalhe`` fills the sentence: a date as people write it, or a CNPJ.
    """

    code = "certificate_refused"

    def __init__(self, motivo: Refusal, detalhe: str = "") -> None:
        happened, advice = _TEXTS[motivo]
        super().__init__(f"{happened.format(detalhe)} Nada mudou; o arquivo e a senha não foram guardados. {advice}")
        self.motivo = motivo
        self.detalhe = detalhe
