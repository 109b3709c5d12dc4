"""An invoice under construction: what is said to it, and what becomes of it."""
