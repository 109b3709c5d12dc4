"""What a conversation can be about, beside the invoice under construction."""
