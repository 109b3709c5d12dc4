"""Batches of mails in PostgreSQL: each list once, each address once, one worker at each list."""
