"""The WhatsApp Cloud API."""
