"""Reads a company's A1 certificate, which a stranger may have made, in a process of its own."""
