"""What an invoice says, for each kind of document: content, fingerprint, and what differs from it."""
