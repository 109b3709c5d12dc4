"""The load: who presses, and the world around the house under measurement."""
