"""The service of an invoice: where it stands in a message, whole."""
