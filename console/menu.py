"""The console's sections and who sees each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from persistence.access.accounts import Papel

if TYPE_CHECKING:
    from persistence.access.accounts import Staff


@dataclass(frozen=True, slots=True)
class Secao:
    """One entry of the menu; ``tecla`` follows ``g``."""

    titulo: str
    caminho: str
    tecla: str
    papel: Papel = Papel.LEITURA
    aqui: bool = False


SECOES: Final = (
    Secao("Fila", "/console", "f"),
    Secao("Falhas", "/console/falhas", "r"),
    Secao("Empresas", "/console/empresas", "m"),
    Secao("Painel", "/console/painel", "p"),
    Secao("Saúde", "/console/saude", "s"),
    Secao("Lotes", "/console/lotes", "e"),
    Secao("Auditoria", "/console/auditoria", "a", Papel.SUPERVISOR),
    Secao("LGPD", "/console/pessoas", "l", Papel.ADMIN),
)


def menu(quem: Staff | None, caminho: str) -> tuple[Secao, ...]:
    """Return what this person sees, with the present section marked."""
    if quem is None or quem.senha_provisoria:
        return ()
    here = max((s.caminho for s in SECOES if _under(caminho, s.caminho)), key=len, default="")
    return tuple(
        Secao(s.titulo, s.caminho, s.tecla, s.papel, aqui=s.caminho == here)
        for s in SECOES
        if quem.papel.alcanca(s.papel)
    )


def _under(caminho: str, secao: str) -> bool:
    return caminho == secao or (secao != "/console" and caminho.startswith(f"{secao}/"))
