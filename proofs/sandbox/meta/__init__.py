"""The simulated WhatsApp Cloud API."""
