"""What people and systems do with batches: send a list, say yes to it, ask about it, stop it."""
