"""Judges a storm by the ledgers of the simulated Meta, gateway and register, and by what its people saw."""
