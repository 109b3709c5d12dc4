"""Judges a storm by the books of the simulated Meta, gateway and register, and by what its people saw."""
