"""Orders to the authority: claimed, sent, asked about, settled; each issued exactly once."""
