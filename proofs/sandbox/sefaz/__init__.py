"""The simulated SEFAZ of NF-e and NFC-e: SOAP 1.2 over mutual TLS with the sandbox's own authority."""
