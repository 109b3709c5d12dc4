"""Every route of the console and the least role that passes it, in one table; docs and tests are made from it."""

from __future__ import annotations

from typing import Final

from console import live
from console.access import login
from console.access.locks import Rota
from console.actions import documents, group_resolution, groups, remove_user
from console.actions import form as actions
from console.batches import lists
from console.companies import changes
from console.companies import pages as companies
from console.pages import audits, case, figures, people, quarantine, queue, search, snapshot, views
from console.render import export
from persistence.access.accounts import Papel

_REMOVE: Final = "/contatos/{codigo}/remover-usuario"

ROTAS: Final[tuple[Rota, ...]] = (
    Rota("GET", "/entrar", None, "formulário de entrada", login.show),
    Rota("POST", "/entrar", None, "entrar", login.enter),
    Rota("POST", "/sair", Papel.LEITURA, "sair", login.leave, provisoria=True),
    Rota("GET", "/senha", Papel.LEITURA, "formulário da senha", login.show_password, provisoria=True),
    Rota("POST", "/senha", Papel.LEITURA, "trocar a senha", login.set_password, provisoria=True),
    Rota("GET", "", Papel.LEITURA, "fila, desconhecidas, quarentena", queue.show),
    Rota("POST", "/vistas", Papel.LEITURA, "salvar uma vista da fila, como aba sua", views.save),
    Rota("POST", "/vistas/{numero}/apagar", Papel.LEITURA, "apagar uma vista sua", views.forget),
    Rota("GET", "/busca", Papel.LEITURA, "o que uma busca achou", search.show),
    Rota("POST", "/busca", Papel.LEITURA, "buscar", search.ask),
    Rota("GET", "/sessoes/{sessao_id}", Papel.LEITURA, "uma nota e a sua conversa", case.show),
    Rota("POST", "/sessoes/{sessao_id}/mostrar", Papel.SUPORTE, "mostrar dados sem máscara, com motivo", case.reveal),
    Rota("GET", "/sessoes/{sessao_id}/snapshot", Papel.LEITURA, "snapshot, revisões, envios", snapshot.show),
    Rota("POST", "/sessoes/{sessao_id}/documentos", Papel.SUPORTE, "o PDF ou o XML, com motivo", documents.download),
    Rota("GET", "/sessoes/{sessao_id}/acoes/{acao}", Papel.SUPORTE, "o que uma ação faz", actions.form),
    Rota("POST", "/sessoes/{sessao_id}/acoes/{acao}", Papel.SUPORTE, "uma ação (encerrar: supervisor)", actions.act),
    Rota("GET", "/quarentena/{numero}", Papel.LEITURA, "uma linha da quarentena", quarantine.show),
    Rota("POST", "/quarentena/{numero}", Papel.SUPERVISOR, "reprocessar da quarentena", quarantine.replay),
    Rota("GET", "/falhas", Papel.LEITURA, "grupos de falha", figures.failures),
    Rota("GET", "/falhas/grupo", Papel.SUPERVISOR, "um grupo, e o que aconteceria com cada nota", groups.show),
    Rota("POST", "/falhas/grupo", Papel.SUPERVISOR, "tentar de novo um grupo inteiro", groups.act),
    Rota("POST", "/falhas/grupo/resolver", Papel.SUPERVISOR, "resolver ou reabrir um grupo", group_resolution.act),
    Rota("GET", "/painel", Papel.LEITURA, "painel", figures.dashboard),
    Rota("GET", "/saude", Papel.LEITURA, "saúde", figures.health),
    Rota("POST", "/saude/leiaute", Papel.ADMIN, "o leiaute em que o emissor nacional emite", figures.choose_layout),
    Rota("GET", "/exportar.{formato}", Papel.SUPERVISOR, "a lista como CSV ou JSON, mascarada", export.show),
    Rota("GET", "/eventos", Papel.LEITURA, "novidades", live.stream, sozinha=True),
    Rota("GET", "/auditoria", Papel.SUPERVISOR, "auditoria", audits.show),
    Rota("GET", "/contatos/{codigo}", Papel.LEITURA, "uma conversa inteira", case.contact),
    Rota("GET", _REMOVE, Papel.SUPERVISOR, "o que muda se um telefone não puder mais emitir", remove_user.form),
    Rota("POST", _REMOVE, Papel.SUPERVISOR, "tirar de um telefone o direito de emitir, com motivo", remove_user.act),
    Rota("GET", "/empresas", Papel.LEITURA, "empresas, com o que cada uma pede", companies.listed),
    Rota("GET", "/empresas/{numero}", Papel.LEITURA, "uma empresa: canal, códigos, pessoas, mês", companies.show),
    Rota("POST", "/empresas/{numero}/{mudanca}", Papel.SUPERVISOR, "mudar uma empresa, com motivo", changes.act),
    Rota("GET", "/lotes", Papel.LEITURA, "listas que viram e-mails, e até onde foram", lists.show),
    Rota("POST", "/lotes/{numero}/confirmar", Papel.SUPERVISOR, "enviar o que foi lido de uma lista", lists.confirm),
    Rota("POST", "/lotes/{numero}/parar", Papel.SUPORTE, "parar o que não saiu de uma lista", lists.stop),
    Rota("GET", "/pessoas", Papel.ADMIN, "pedidos da LGPD", people.show),
    Rota("POST", "/pessoas/ensaio", Papel.ADMIN, "o que está guardado sobre uma pessoa", people.rehearsal),
    Rota("POST", "/pessoas/exportar", Papel.ADMIN, "a cópia dos dados de uma pessoa, com motivo", people.export),
    Rota("POST", "/pessoas/apagar", Papel.ADMIN, "apagar os dados de uma pessoa, com motivo", people.erase),
)
