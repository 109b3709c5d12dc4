"""Finds the national codes that everyday Portuguese words mean, with the words that speak for each.

What people call a service in everyday words, by national code; written for this product, no part of any table.

Entries are separated by commas; an entry of several words means its code only where all of them are said.
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Final

from state_machine.services.codes import digits, table
from state_machine.values.text import plain

WORDS: Final = {
    "010101": "sistema, software sob medida, análise de sistemas, desenvolvimento de software, desenvolvedor",
    "010201": "programação, programador, código fonte, api, automação de planilha, robô de atendimento, chatbot",
    "010302": "hospedagem de site, servidor na nuvem, backup na nuvem, e-mail corporativo, domínio",
    "010401": "aplicativo, app, jogo eletrônico, desenvolvimento de aplicativo, software",
    "010501": "licença de software, mensalidade do sistema, assinatura do sistema, assinatura de software, saas",
    "010601": "consultoria em informática, consultoria de ti, consultoria em tecnologia, consultoria de sistemas",
    "010701": "suporte técnico, suporte de informática, suporte de ti, formatação, instalação de programa, help desk, "
    "configuração de rede, manutenção de sistema, banco de dados, formatei computador, formatei notebook",
    "010801": "site, página na internet, landing page, loja virtual, wordpress, webdesign, manutenção de site",
    "020101": "pesquisa científica",
    "030301": "aluguel de salão, aluguel de salão de festa, salão de festas, espaço para evento, locação de espaço",
    "030302": "coworking, escritório virtual, endereço fiscal",
    "030303": "aluguel de quadra, quadra, campo de futebol",
    "030501": "andaime, aluguel de palco, tenda, aluguel de tenda",
    "040101": "médico, consulta médica, plantão, plantão médico, clínico geral, pediatra, cardiologista, cirurgia",
    "040201": "exame de sangue, exame de laboratório",
    "040205": "raio x, ultrassom, tomografia, ressonância",
    "040303": "clínica médica",
    "040501": "acupuntura",
    "040601": "enfermeira, enfermeiro, técnico de enfermagem, curativo, cuidador, cuidador de idoso",
    "040801": "terapeuta ocupacional",
    "040802": "fisioterapia, fisioterapeuta, rpg, osteopatia, quiropraxia",
    "040803": "fonoaudiólogo, fono",
    "040901": "terapia, reiki, terapia holística, constelação familiar, aromaterapia",
    "041001": "nutricionista, plano alimentar, dieta",
    "041101": "parto, obstetra, doula",
    "041201": "dentista, odontologia, canal, limpeza de dente, aparelho ortodôntico, implante dentário, clareamento, "
    "extração de dente, ortodontia",
    "041501": "psicanalista",
    "041601": "psicólogo, psicologia, psicoterapia, sessão de terapia, atendimento psicológico",
    "041701": "casa de repouso, lar de idosos",
    "041703": "creche, berçário",
    "050101": "veterinário, consulta veterinária, vacina de cachorro, vacina de gato",
    "050202": "clínica veterinária",
    "050801": "banho e tosa, tosa, pet shop, adestramento, adestrador, passeio com cachorro, dog walker, hotel para "
    "cachorro, hotel de pet, pet sitter, cachorro",
    "060101": "corte de cabelo, cabelo, barba, barbeiro, cabeleireiro, manicure, pedicure, unha, unha em gel, escova, "
    "progressiva, luzes, tintura de cabelo, penteado, alongamento de unha",
    "060201": "estética, esteticista, depilação, limpeza de pele, maquiagem, sobrancelha, cílios, botox, peeling, "
    "drenagem linfática, micropigmentação",
    "060301": "massagem, massagista, massoterapia, sauna",
    "060401": "personal trainer, personal, academia, aula de ginástica, aula de dança, aula de natação, natação, yoga, "
    "ioga, pilates, crossfit, treino, jiu-jitsu, judô, futebol, professor de dança",
    "060501": "spa, emagrecimento",
    "060601": "tatuagem, tatuador, piercing",
    "070101": "engenharia, engenheiro, art de engenheiro, engenheiro responsável",
    "070102": "agrônomo",
    "070104": "arquitetura, arquiteto, projeto arquitetônico, projeto de interiores, design de interiores",
    "070106": "paisagismo, paisagista",
    "070201": "administração de obra",
    "070202": "construção, obra, pedreiro, empreitada, construção de casa, construção de muro, alvenaria, servente, "
    "terraplenagem, drenagem, poço artesiano",
    "070302": "projeto de engenharia, projeto estrutural, projeto elétrico, projeto hidráulico, cálculo estrutural",
    "070401": "demolição, demolir",
    "070501": "reforma, reforma de casa, reforma de banheiro, pintura de casa, pintura de parede, pintura de "
    "apartamento, pintura de fachada, pintor, telhado, eletricista, encanador, vazamento, infiltração, rejunte, "
    "impermeabilização, marido de aluguel, goteira, reparo de parede",
    "070601": "instalação de cortina, carpete, tapete",
    "070602": "azulejo, azulejista, piso, gesso, drywall, porcelanato, papel de parede, vidraceiro, divisória, forro",
    "070701": "raspagem de taco, sinteco, polimento de piso, lustração de piso",
    "070901": "coleta de lixo, caçamba, entulho, coleta de entulho",
    "070902": "reciclagem",
    "071001": "varrição de rua",
    "071002": "faxina, faxineira, diarista, limpeza, limpeza de casa, limpeza de apartamento, limpeza de escritório, "
    "limpeza de piscina, limpeza pós obra, piscina, limpeza de caixa d'água, zeladoria, limpeza de sofá, "
    "limpeza de vidro, conservação de imóvel",
    "071101": "decoração, decorador, decoração de festa, balões",
    "071102": "jardinagem, jardineiro, poda, corte de grama, roçada, cortei grama, jardim",
    "071301": "dedetização, barata, cupim, rato, desinsetização, pragas, higienização, sanitização",
    "071901": "fiscalização de obra, acompanhamento de obra",
    "072003": "topografia, topógrafo, levantamento topográfico, georreferenciamento",
    "080101": "escola, mensalidade escolar, ensino fundamental, ensino médio, educação infantil",
    "080102": "faculdade, graduação, pós-graduação",
    "080201": "aula, aula particular, professor, professora, curso, treinamento, reforço escolar, aula de inglês, "
    "aula de música, mentoria, oficina, workshop, capacitação, instrutor, coaching, autoescola, idioma",
    "090101": "hotel",
    "090102": "pousada, diária, diária de pousada, hospedagem, aluguel por temporada, hostel, airbnb",
    "090103": "motel",
    "090201": "agência de viagem, venda de passagem, agente de viagem, pacote de viagem",
    "090202": "excursão, passeio turístico",
    "090301": "guia de turismo, guia turístico",
    "100102": "corretor de seguro, corretagem de seguro, seguro, seguros, comissão de seguro",
    "100103": "máquina de cartão",
    "100104": "corretor de plano de saúde, venda de plano de saúde, comissão de plano de saúde",
    "100202": "correspondente bancário, empréstimo consignado",
    "100501": "corretor de imóveis, corretagem de imóvel, comissão de venda de imóvel, imobiliária, intermediação, "
    "venda de imóvel, comissão de venda, marketplace, aluguel de imóvel, venda de apartamento",
    "100801": "agenciamento de publicidade",
    "100901": "representação comercial, representante comercial, representante, comissão de representação, vendedor "
    "externo",
    "110101": "estacionamento, valet, manobrista, garagem",
    "110201": "segurança, vigilância, vigia, monitoramento de alarme, alarme, portaria, câmera de segurança, vigilante",
    "110301": "escolta",
    "110401": "guarda de móveis, armazenagem, depósito",
    "110402": "carga e descarga, chapa, descarregamento, ajudante de carga",
    "110501": "rastreamento de veículo, rastreador",
    "120101": "peça de teatro, teatro",
    "120501": "parque infantil",
    "120701": "show, apresentação musical, recital, show de banda",
    "120801": "feira, exposição",
    "120903": "brinquedo inflável, pula-pula",
    "121101": "campeonato, torneio, corrida de rua",
    "121201": "músico, música ao vivo, cantor, banda, dj, violonista, voz e violão",
    "121301": "produção de evento, produção cultural, produtor de evento, sonorização, iluminação de evento",
    "121701": "animação de festa, recreação, palhaço, animador, recreador, monitor infantil, festa infantil, mágico",
    "130201": "gravação de áudio, estúdio de gravação, dublagem, mixagem, masterização, podcast, locução, jingle, "
    "edição de podcast",
    "130301": "fotografia, fotógrafo, foto, ensaio, ensaio fotográfico, filmagem, vídeo, edição de vídeo, videomaker, "
    "cinegrafista, drone, fotos de produto, álbum",
    "130401": "xerox, fotocópia, digitalização de documento, escaneamento",
    "130501": "gráfica, impressão, panfleto, cartão de visita, folder, convite, flyer, impressão de material",
    "140101": "conserto, reparo, conserto de celular, conserto de computador, conserto de geladeira, máquina de lavar, "
    "troca de tela, mecânico, oficina mecânica, revisão de carro, troca de óleo, lava-jato, lavagem de carro, "
    "manutenção de máquina, manutenção de equipamento, conserto de moto, bicicleta, freio, embreagem, elevador, "
    "manutenção de ar condicionado, limpeza de ar condicionado, elétrica de carro, conserto de televisão, "
    "conserto de relógio, eletrodoméstico, afinação, alinhamento, balanceamento, recarga de extintor",
    "140201": "assistência técnica",
    "140301": "retífica de motor, recondicionamento de motor",
    "140401": "recapagem, recauchutagem, borracharia, pneu",
    "140501": "restauração de móvel, pintura de carro, envernizamento, galvanização, usinagem, costura industrial, "
    "facção, corte a laser, pintura eletrostática, beneficiamento, polimento de carro, torno, estamparia, bordado",
    "140601": "instalação de ar condicionado, montagem de móveis, montador de móveis, instalação de equipamento, "
    "instalação de câmera, instalação de antena, instalação de máquina, energia solar, painel solar, "
    "montagem de máquina, instalação de alarme, instalação de ventilador",
    "140701": "moldura, quadro",
    "140801": "encadernação",
    "140901": "costureira, costura, ajuste de roupa, alfaiate, bainha, conserto de roupa, vestido, reforma de roupa",
    "141001": "lavanderia, lavagem de roupa, passar roupa, passadeira, tingir",
    "141101": "estofador, reforma de sofá, estofamento, tapeceiro, tapeçaria",
    "141201": "funilaria, lanternagem, martelinho, martelinho de ouro, amassado",
    "141301": "marcenaria, marceneiro, móvel sob medida, móveis planejados, carpinteiro, carpintaria",
    "141302": "serralheria, serralheiro, solda, soldador, portão, grade, portão de ferro",
    "141401": "guincho, reboque, reboque de carro",
    "141402": "guindaste, munck, içamento",
    "150307": "locação de máquina de banco",
    "160101": "ônibus, transporte escolar, van escolar, fretamento, perueiro",
    "160201": "frete, mudança, carreto, transporte de carga, uber, taxi, táxi, motorista, motorista particular, "
    "transporte executivo, transporte de passageiro, mototáxi",
    "170101": "consultoria, assessoria, consultoria empresarial, consultor, consultoria de negócios, "
    "gestão de projeto, consultoria de marketing, consultoria de imagem, mentoria empresarial",
    "170102": "pesquisa de mercado, levantamento de dados, pesquisa de satisfação",
    "170201": "digitação, digitador",
    "170202": "secretária, assistente virtual, apoio administrativo, serviços administrativos, back office, recepção, "
    "recepcionista, office boy, auxiliar administrativo",
    "170203": "telemarketing, call center, atendimento por telefone",
    "170204": "redação, revisão de texto, redator, copywriter, texto para blog, copy, revisor, edição de livro, "
    "diagramação, ghostwriter, roteiro",
    "170205": "tradução, tradutor, intérprete, legendagem, libras, tradução juramentada",
    "170301": "planejamento técnico",
    "170302": "planejamento financeiro, bpo financeiro",
    "170303": "planejamento estratégico, planejamento administrativo",
    "170401": "recrutamento, seleção de pessoal, headhunter, vaga",
    "170501": "terceirização, mão de obra temporária, mão de obra terceirizada, mão de obra, garçom",
    "170601": "marketing, marketing digital, publicidade, propaganda, social media, rede social, redes sociais, "
    "gestão de tráfego, tráfego pago, instagram, campanha, anúncio, post, criação de conteúdo, panfletagem, "
    "influenciador, publi, divulgação, google ads, promotor de vendas",
    "170801": "franquia, royalties",
    "170901": "perícia, laudo, laudo técnico, perito, vistoria, avaliação técnica, inspeção",
    "171001": "organização de feira",
    "171002": "organização de congresso, organização de evento corporativo",
    "171101": "organização de festa, cerimonial, cerimonialista, organização de casamento, assessoria de casamento, "
    "organização de evento, festa de aniversário, recepção de evento",
    "171102": "buffet, bufê, churrasqueiro, coquetel, chef em casa, catering, bartender",
    "171201": "administração de condomínio, síndico, síndico profissional, administração de imóvel, administração de "
    "aluguel, gestão de condomínio, administração de bens",
    "171301": "leilão, leiloeiro",
    "171401": "advogado, advocacia, honorários advocatícios, assessoria jurídica, parecer jurídico, audiência, "
    "processo judicial, contrato jurídico, honorário jurídico, consultoria jurídica",
    "171501": "arbitragem, mediação de conflitos",
    "171601": "auditoria, auditor",
    "171701": "processos internos, organização e métodos",
    "171801": "atuário",
    "171901": "contador, contabilidade, imposto de renda, folha de pagamento, escrituração, honorários contábeis, "
    "abertura de empresa, balanço, contábil, departamento pessoal",
    "172001": "consultoria financeira, consultoria econômica, assessor de investimento, consultoria de investimento",
    "172101": "estatístico",
    "172201": "cobrança, cobrança de dívida",
    "172401": "palestra, palestrante, seminário, conferência",
    "172501": "espaço publicitário, outdoor, banner em site, patrocínio, veiculação de anúncio",
    "190101": "loteria, lotérica, rifa",
    "210101": "cartório, reconhecimento de firma, registro civil",
    "230101": "logo, logotipo, logomarca, identidade visual, design gráfico, designer gráfico, comunicação visual, "
    "criação de marca, criação de arte, arte para post, designer, design, ilustração, arte digital, "
    "layout",
    "230102": "desenho industrial, design de produto, design de embalagem, embalagem, modelagem 3d",
    "240101": "chaveiro, cópia de chave, carimbo, fechadura, abertura de porta",
    "240102": "placa, adesivo, banner, faixa, letreiro, fachada de loja, sinalização, envelopamento, plotagem, lona",
    "250101": "funeral, funerária, velório",
    "250202": "cremação",
    "250401": "jazigo, túmulo",
    "260101": "motoboy, entrega, entregador, delivery, entrega de encomenda, correios, entrega de documento, malote",
    "260102": "courier, encomenda expressa",
    "270101": "assistente social, assistência social",
    "280101": "avaliação de imóvel, avaliação de bens",
    "290101": "bibliotecário, organização de arquivo",
    "300101": "biólogo",
    "300102": "químico, análise de água",
    "310101": "técnico em edificações",
    "310102": "eletrotécnico, técnico em eletrônica",
    "310103": "técnico em mecânica, desenho mecânico",
    "310104": "telecomunicações, instalação de internet, instalação de rede, provedor de internet, cabeamento, "
    "fibra óptica",
    "320101": "desenho técnico, autocad, cadista, desenhista",
    "330101": "despachante, desembaraço aduaneiro, despachante documentalista, licenciamento de veículo",
    "340101": "detetive, investigação particular",
    "350101": "jornalista, reportagem, matéria jornalística",
    "350102": "assessoria de imprensa",
    "350103": "relações públicas",
    "370101": "ator, atriz, modelo, artista, atleta, cachê, figurante, desfile de modelo, jogador",
    "390101": "ourives, joia sob encomenda, joalheiro, lapidação",
    "400101": "obra de arte, quadro sob encomenda, escultura, pintura em tela, retrato, artista plástico",
}


LONGEST: Final = 2000  # characters of a query that are read: a description has no more
EVERYDAY: Final = 3.0  # points of an everyday word, which was written for its code; each further one gives two more
FURTHER: Final = 2.0
OWN: Final = 3.0  # points of a word of a company's own description of a code
RARE: Final = 1.5  # points of a word that only one text of the table has
CLEAR: Final = 1.5  # times the second: less is no clear winner
_KEPT: Final = 8192  # stems: of the official list, and of what was asked last
_SHORTEST: Final = 3  # characters of a word that says something, beside those of ``_SHORT``
_SHORT: Final = frozenset({"ti", "dj", "3d", "rh"})
_WORD: Final = re.compile(r"[a-z0-9]+")
_EXCEPT: Final = re.compile(r"\([^()]*\)|\bexceto .*")
_SILENT: Final = frozenset(
    """
    a o as os um uma uns umas de da do das dos em na no nas nos e ou com sem por pra pro para pelo pela ao aos que se
    servico servicos prestado prestados prestacao referente qualquer quaisquer natureza congeneres outros outras
    inclusive geral mes mensal meu minha cliente nova novo dia
    """.split()  # noqa: SIM905 - fifty literals are no easier to read
)
_PLURALS: Final = (("oes", "ao"), ("aes", "ao"), ("ais", "al"), ("eis", "el"), ("ois", "ol"), ("ns", "m"), ("res", "r"),
                   ("zes", "z"), ("s", ""))  # fmt: skip
_ENDINGS: Final = tuple(
    sorted(
        """
        izacao acao icao cao amento imento mento agem adora adores ador edor idor dora dor eiro eira ista aria oria
        ologia ologico ologo ando endo indo ado ada ido ida ante ente ivo iva ico ica ar er ir ei ou eu iu o a e
        """.split(),  # noqa: SIM905 - likewise
        key=lambda ending: (-len(ending), ending),
    )
)
_ROOT: Final = 4  # characters that an ending leaves at least


@dataclass(frozen=True, slots=True)
class ServiceHit:
    """A code that words may mean: ``pontos`` says how much speaks for it, ``palavras`` (folded) what of the query."""

    codigo: str
    texto: str
    pontos: float
    palavras: tuple[str, ...]


def search(busca: str, most: int = 10) -> list[ServiceHit]:
    """Return the codes that the words mean, the likeliest first, equal ones by code; a code written out is its own."""
    try:
        codigo = digits(busca)
    except ValueError:
        pass
    else:
        row = table().codigos.get(codigo)
        return [ServiceHit(codigo, row.texto, math.inf, (busca.strip(),))] if row else []
    said = stems(busca)
    hits = [hit for codigo in table().codigos if (hit := _hit(codigo, said)).pontos > 0]
    return sorted(hits, key=lambda hit: (-hit.pontos, hit.codigo))[:most]


def among(busca: str, codigos: Mapping[str, str | None]) -> tuple[list[ServiceHit], bool]:
    """Return the given codes (each with a description of its own, or none) by what speaks for them, and if one wins.

    One wins that has half as many points again as the second, and where none has any, nobody does.
    """
    said = stems(busca)
    hits = sorted((_hit(codigo, said, own or "") for codigo, own in codigos.items()), key=lambda hit: -hit.pontos)
    if not hits or hits[0].pontos == 0:
        return hits, False
    return hits, len(hits) == 1 or hits[0].pontos >= hits[1].pontos * CLEAR


def stems(texto: str) -> dict[str, str]:
    """Return the stems of what a text says, each with the folded word that it comes from, in their order."""
    words = (word for word in _WORD.findall(fold(texto)) if word not in _SILENT)
    return {stem(word): word for word in words if len(word) >= _SHORTEST or word in _SHORT}


def fold(texto: str) -> str:
    """Return a text in lower case without accents."""
    return plain(texto, LONGEST)


@lru_cache(_KEPT)  # words of people: what they wrote must not stay for ever
def stem(word: str) -> str:
    """Return what plural, gender and the ending of a folded word leave: "programação" and "programador" are one."""
    for plural, one in _PLURALS:
        if word.endswith(plural) and len(word) - len(plural) + len(one) >= _ROOT:
            word = word.removesuffix(plural) + one
            break
    for ending in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= _ROOT:
            return word.removesuffix(ending)
    return word


def _hit(codigo: str, said: Mapping[str, str], own: str = "") -> ServiceHit:
    row = table().codigos.get(codigo)
    points = 0.0
    matched: dict[str, str] = {}
    for entry in _entries().get(codigo, ()):  # the longest first: a word counts once
        if all(part in said and part not in matched for part in entry):
            points += EVERYDAY + FURTHER * (len(entry) - 1)
            matched |= {part: said[part] for part in entry}
    for part in stems(own):
        if part in said and part not in matched:
            points += OWN
            matched[part] = said[part]
    text = _texts().get(codigo, ())
    inside = [part for part in text if part in said]
    if inside:
        share = len(inside) / len(text)  # a short text that is said whole speaks for itself
        points += (0.5 + share) * sum(RARE * _rarity(part) for part in inside if part not in matched)
        matched |= {part: said[part] for part in inside}
    order = [word for part, word in said.items() if part in matched]
    return ServiceHit(codigo, row.texto if row else "", round(points, 3), tuple(order))


@cache
def _entries() -> dict[str, tuple[tuple[str, ...], ...]]:
    return {codigo: _sorted(tuple(stems(entry)) for entry in text.split(",")) for codigo, text in WORDS.items()}


def _sorted(entries: Iterable[tuple[str, ...]]) -> tuple[tuple[str, ...], ...]:
    return tuple(sorted(filter(None, dict.fromkeys(entries)), key=lambda entry: (-len(entry), entry)))


@cache
def _texts() -> dict[str, tuple[str, ...]]:
    return {codigo: tuple(stems(_EXCEPT.sub(" ", row.texto))) for codigo, row in table().codigos.items()}


@lru_cache(_KEPT)
def _rarity(part: str) -> float:
    """Return 1 for a stem that one text has, less for each further one."""
    texts = _texts().values()
    return 1 - math.log(max(1, _count(part, texts))) / math.log(len(texts))


def _count(part: str, texts: Collection[tuple[str, ...]]) -> int:
    return sum(part in text for text in texts)
