"""The demo page: a phone in a browser."""
