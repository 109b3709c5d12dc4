"""Decisions about mailings: how a list is read, and what a server's answer to a mail means."""
