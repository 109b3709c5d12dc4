"""Tables of invoices: what was sent, what became of it, and the numbers."""
