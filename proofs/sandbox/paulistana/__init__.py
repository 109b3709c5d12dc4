"""The simulated city of São Paulo: RPS over SOAP, over mutual TLS with the sandbox's own authority."""
