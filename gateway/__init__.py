"""Speaks to the outside: fiscal gateway, WhatsApp Cloud API, CNPJ register; decides nothing about a conversation."""
