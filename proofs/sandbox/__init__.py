"""Simulated Meta, fiscal gateway, CNPJ register and model over real HTTP; imports nothing of the product."""
