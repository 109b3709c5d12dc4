"""The simulated SEFIN Nacional and ADN, over mutual TLS with an authority of their own."""
