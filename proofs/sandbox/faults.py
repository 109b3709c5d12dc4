"""What goes wrong, how often and for whom: named switches and seeded chances."""

from __future__ import annotations

import hashlib
from collections import Counter
from dataclasses import asdict, dataclass, replace
from enum import StrEnum
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

    from proofs.sandbox.ledger import Ledger


class Fault(StrEnum):
    """Values are the names of the switches, as the demo page shows them."""

    SLOW = "lento"  # waits, then answers; the simulated authority takes as long again
    DROP_BEFORE = "cortar_antes"  # connection reset, nothing accepted
    TOO_MANY = "limite_429"  # refused before acceptance, with Retry-After
    ERROR_500 = "erro_500"  # refused
    UNAVAILABLE = "erro_503"  # refused by the edge, with its own page and Retry-After
    ERROR_500_ACCEPTED = "erro_500_aceito"  # accepted all the same
    HTML = "html_200"  # a proxy's page, nothing accepted
    HTML_ACCEPTED = "html_200_aceito"
    TRUNCATED = "json_truncado"  # accepted, half of the answer arrives
    LOSE_ANSWER = "perder_resposta"  # accepted, then the connection is reset
    HANG = "pendurar_resposta"  # accepted, never answered
    ACCEPT_LATE = "aceitar_tarde"  # connection reset first, accepted some seconds later
    REJECT = "rejeitar"  # the authority rejects the note, with ``message`` if one is set
    REFUSE = "recusar_na_porta"  # the gateway itself refuses the order, with ``status`` and ``message``
    READ_LAG = "leitura_atrasada"  # a note younger than ``seconds`` is not found, and a duplicate is told in words only
    REJECT_CANCEL = "rejeitar_cancelamento"
    NO_UNIQUENESS = "sem_unicidade"  # the same key may be issued twice
    BAD_REQUEST_ACCEPTED = "erro_400_com_protocolo"  # accepted, answered 400 with a protocol
    OTHER_REFERENCE = "referencia_alheia"  # accepted, the answer names somebody else's note
    MAINTENANCE = "manutencao"  # SEFIN: E1217, SEFAZ: 108 or the code of ``message``; nothing accepted
    NO_CRL = "lcr_indisponivel"  # SEFIN: E1206, nothing accepted
    CERTIFICATE = "certificado_recusado"  # SEFIN: E1203, nothing accepted
    NO_NUMBER = "aprovado_sem_numero"  # says authorised and gives no number
    WRONG_ROOT = "raiz_errada"  # São Paulo, SEFAZ: accepted, the answer is of no message that anybody knows
    ALERT = "autorizado_com_alerta"  # SEFAZ: 120 in place of 100, with ``message``
    QUEUED = "fila_sem_resposta"  # SEFAZ: connection reset, taken ``seconds`` later; 635 meanwhile
    RECEIPT = "recibo_em_vez_de_protocolo"  # SEFAZ: 103 with a receipt, decided ``seconds`` later
    UNCATALOGUED = "erro_999"  # SEFAZ: nothing accepted
    UNCATALOGUED_ACCEPTED = "erro_999_aceito"
    UNLINKED = "evento_136"  # SEFAZ: the event is registered and said not to be linked to its note
    ESCAPED = "resposta_escapada"  # SEFAZ: the answer is text in place of XML
    NO_NAMESPACE = "resposta_sem_namespace"  # SEFAZ
    NO_WEBHOOK = "sem_webhook"  # Meta: status webhooks only; a person's message is never lost
    WEBHOOK_DUPLICATED = "webhook_duplicado"
    WEBHOOK_LATE = "webhook_atrasado"
    WEBHOOK_SHUFFLED = "webhook_embaralhado"


@dataclass(frozen=True, slots=True)
class Setting:
    """How one fault behaves.

    ``chance`` 1.0 is a switch; ``times`` counts the strikes left (None: no end); ``seconds`` is the delay, Retry-After
    or hang of this fault; ``copies`` is how many times a duplicated webhook arrives; ``method`` limits it to one HTTP
    method (None: any), ``about`` to requests with this text in their path or body (None: all). ``status`` and
    ``message`` are those of a refusal.
    """

    chance: float = 1.0
    times: int | None = None
    seconds: float = 3.0  # long enough to be seen, short enough to be waited for
    copies: int = 3
    method: str | None = None
    status: int = 400
    message: str | None = None
    about: str | None = None


# Faults about acceptance only make sense on orders, not on questions.
_ON_POST = frozenset(
    {
        Fault.ERROR_500_ACCEPTED,
        Fault.HTML_ACCEPTED,
        Fault.TRUNCATED,
        Fault.LOSE_ANSWER,
        Fault.HANG,
        Fault.ACCEPT_LATE,
    },
)


def _default(fault: Fault) -> Setting:
    return Setting(method="POST" if fault in _ON_POST else None)


class Faults:
    """The faults of one simulator.

    Whether a chance strikes depends only on the seed, the fault, what it strikes at (``key``) and how often that was
    tried, so a seed replays whatever the order of arrival.
    """

    def __init__(
        self, *, seed: int = 0, ledger: Ledger | None = None, usual: Mapping[Fault, Mapping[str, Any]] | None = None
    ) -> None:
        self.seed = seed
        self.ledger = ledger
        self._usual = usual or {}  # what fields of ``Setting`` are at this simulator, when nothing else is said
        self.hits: Counter[Fault] = Counter()
        self._settings: dict[Fault, Setting] = {}
        self._tries: Counter[tuple[Fault, str]] = Counter()

    def set(self, fault: Fault | str, **changes: Any) -> None:
        """Switch a fault on; ``changes`` are fields of ``Setting``. Raises ``ValueError`` for an unknown name."""
        fault = Fault(fault)
        self._settings[fault] = replace(_default(fault), **{**self._usual.get(fault, {}), **changes})

    def clear(self, fault: Fault | str | None = None) -> None:
        """Switch one fault off, or all of them."""
        if fault is None:
            self._settings.clear()
        else:
            self._settings.pop(Fault(fault), None)

    def configure(self, wanted: Mapping[str, Any]) -> None:
        """Apply JSON: ``{"lento": true, "rejeitar": {"times": 1}, "perder_resposta": 0.2, "sem_webhook": false}``."""
        for name, value in wanted.items():
            match value:
                case False | None:
                    self.clear(name)
                case True:
                    self.set(name)
                case int() | float():
                    self.set(name, chance=float(value))
                case dict():
                    self.set(name, **value)
                case _:
                    raise ValueError(f"{name}: {value!r}")

    def as_dict(self) -> dict[str, Any]:
        """Return the settings that are on, the hits so far and every known name."""
        return {
            "seed": self.seed,
            "on": {fault.value: asdict(setting) for fault, setting in self._settings.items()},
            "hits": {fault.value: count for fault, count in self.hits.items()},
            "names": [fault.value for fault in Fault],
        }

    def is_on(self, fault: Fault | str) -> bool:
        """Say whether the fault may strike at all."""
        return Fault(fault) in self._settings

    def setting(self, fault: Fault) -> Setting | None:
        """Return how the fault is set, without striking."""
        return self._settings.get(fault)

    def strike(self, fault: Fault, key: str, *, method: str | None = None, text: str = "") -> Setting | None:
        """Decide whether ``fault`` hits this try at ``key``; returns its setting when it does, and counts it.

        ``text`` is all that the request says.
        """
        setting = self._settings.get(fault)
        if setting is None or (setting.method and method and setting.method != method):
            return None
        if setting.about and setting.about not in text:
            return None
        if setting.chance < 1.0:
            self._tries[fault, key] += 1
            if self._draw(fault, key, self._tries[fault, key]) >= setting.chance:
                return None
        if setting.times is not None:
            if setting.times <= 1:
                self.clear(fault)
            else:
                self._settings[fault] = replace(setting, times=setting.times - 1)
        self.hits[fault] += 1
        if self.ledger is not None:
            self.ledger.append("fault", fault=fault.value, key=key)
        return setting

    def fraction(self, fault: Fault, key: str) -> float:
        """Return a number in [0, 1) that is always the same for this seed, fault and key."""
        return self._draw(fault, key, 0)

    def _draw(self, fault: Fault, key: str, attempt: int) -> float:
        digest = hashlib.sha256(f"{self.seed}|{fault}|{key}|{attempt}".encode()).digest()
        return int.from_bytes(digest[:8], "big") / 2**64
