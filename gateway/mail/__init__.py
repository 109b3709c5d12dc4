"""Mails to people by SMTP: where the server is, what a mail says, and what its answer means."""
