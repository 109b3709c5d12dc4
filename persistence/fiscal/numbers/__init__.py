"""Numbers of invoices, also after a restored backup."""
