"""Messages on their way to people, and what WhatsApp says of them."""
