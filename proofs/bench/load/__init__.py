"""The load: who sends it, and the world around the product under measurement."""
