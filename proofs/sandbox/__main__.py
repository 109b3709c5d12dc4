"""``python -m proofs.sandbox``: the simulators in one process until SIGTERM; prints their addresses as JSON."""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import signal
import sys
from pathlib import Path

from proofs.sandbox.meta.envelope import Account
from proofs.sandbox.meta.meta import MetaConfig
from proofs.sandbox.nacional.sefin import NacionalConfig
from proofs.sandbox.paulistana.rules import PaulistanaConfig
from proofs.sandbox.plugnotas.plugnotas import PlugNotasConfig
from proofs.sandbox.sefaz.rules import SefazConfig
from proofs.sandbox.server import PortError
from proofs.sandbox.world import Ports, World, WorldConfig

FROM_STDIN = "-"  # a bot's address that is not known yet


def arguments(words: list[str] | None = None) -> argparse.Namespace:
    """Read the command line; secrets left out are the simulators' defaults."""
    meta, gateway, account = MetaConfig(), PlugNotasConfig(), Account()
    parser = argparse.ArgumentParser(
        prog="python -m proofs.sandbox",
        description="WhatsApp, PlugNotas, CNPJ, modelo e, com --nacional, SEFIN e ADN, com --paulistana, "
        "a cidade de São Paulo, com --sefaz, a SEFAZ de NF-e e NFC-e, simulados",
    )
    parser.add_argument("--home", type=Path, help="onde ficam os livros e arquivos (sem isso, só na memória)")
    parser.add_argument(
        "--bot-url",
        help="onde o robô escuta, por exemplo http://127.0.0.1:8080; com - , vem depois, numa linha da entrada padrão",
    )
    for name in ("meta", "plugnotas", "cnpj", "model", "sefin", "adn", "paulistana", "sefaz"):
        parser.add_argument(f"--{name}-port", type=int, default=0)
    parser.add_argument("--whatsapp-access-token", default=meta.access_token)
    parser.add_argument("--whatsapp-app-secret", default=meta.app_secret)
    parser.add_argument("--whatsapp-verify-token", default=meta.verify_token)
    parser.add_argument("--whatsapp-phone-number-id", default=account.phone_number_id)
    parser.add_argument("--plugnotas-api-key", default=gateway.api_key)
    parser.add_argument("--gateway-webhook-secret", default=gateway.webhook_secret)
    parser.add_argument(
        "--processing", type=float, default=gateway.processing, help="segundos até a prefeitura responder"
    )
    parser.add_argument("--nacional", action="store_true", help="abre também SEFIN Nacional e ADN, com TLS mútuo")
    parser.add_argument("--paulistana", action="store_true", help="abre também a cidade de São Paulo, com TLS mútuo")
    parser.add_argument("--sefaz", action="store_true", help="abre também a SEFAZ de NF-e e NFC-e, com TLS mútuo")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--faults", type=json.loads, default={}, help='{"plugnotas": {"perder_resposta": 0.2}}')
    return parser.parse_args(words)


def config(args: argparse.Namespace) -> WorldConfig:
    """Turn the command line into a configuration."""
    return WorldConfig(
        meta=MetaConfig(
            access_token=args.whatsapp_access_token,
            app_secret=args.whatsapp_app_secret,
            verify_token=args.whatsapp_verify_token,
            account=Account(phone_number_id=args.whatsapp_phone_number_id),
        ),
        plugnotas=PlugNotasConfig(
            api_key=args.plugnotas_api_key,
            webhook_secret=args.gateway_webhook_secret,
            processing=args.processing,
        ),
        nacional=NacionalConfig(processing=args.processing) if args.nacional else None,
        paulistana=PaulistanaConfig(processing=args.processing) if args.paulistana else None,
        sefaz=SefazConfig(processing=args.processing) if args.sefaz else None,
        ports=Ports(
            args.meta_port,
            args.plugnotas_port,
            args.cnpj_port,
            args.model_port,
            args.sefin_port,
            args.adn_port,
            args.paulistana_port,
            args.sefaz_port,
        ),
        seed=args.seed,
    )


async def run(args: argparse.Namespace) -> None:
    """Open the world, print its addresses, wait for SIGTERM or SIGINT."""
    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    bot_url = None if args.bot_url == FROM_STDIN else args.bot_url
    async with World(args.home, bot_url=bot_url, config=config(args)) as world:
        for simulator in world.simulators:
            simulator.faults.configure(args.faults.get(simulator.name, {}))
        line = {"pid": os.getpid(), **world.urls.as_dict(), **{s.name: s.url for s in world.simulators}}
        sys.stdout.write(json.dumps(line) + "\n")
        sys.stdout.flush()
        told = asyncio.create_task(_connect(world)) if args.bot_url == FROM_STDIN else None
        await stop.wait()
        if told is not None:
            told.cancel()


async def _connect(world: World) -> None:
    """Wait for the line that says where the bot listens: it needs our addresses before it can know its own."""
    lines = asyncio.StreamReader()
    await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(lines), sys.stdin)
    if said := (await lines.readline()).decode().strip():
        world.connect(said)


if __name__ == "__main__":
    try:
        asyncio.run(run(arguments()))
    except PortError as error:
        sys.exit(str(error))
