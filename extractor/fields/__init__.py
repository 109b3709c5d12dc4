"""One reader for each field of an invoice but the amount."""
