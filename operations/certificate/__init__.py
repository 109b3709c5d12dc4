"""A company's A1 certificate: how it comes in, and what becomes of it."""
