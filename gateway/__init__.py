"""Clients of the outside: fiscal gateway, WhatsApp Cloud API, CNPJ register."""
