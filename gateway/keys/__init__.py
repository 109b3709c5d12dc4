"""The authorities' natural keys as value objects: built from their parts, read and checked."""

from gateway.keys.errors import ChaveInvalida
from gateway.keys.event_ids import IdEvento, IdPedidoEvento
from gateway.keys.id_dps import IdDPS
from gateway.keys.nfe import ChaveNFe
from gateway.keys.nfse import ChaveNFSe
from gateway.keys.rps import ChaveRPS

__all__ = ["ChaveInvalida", "ChaveNFSe", "ChaveNFe", "ChaveRPS", "IdDPS", "IdEvento", "IdPedidoEvento"]
