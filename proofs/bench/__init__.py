"""Figures: how fast the product is, beside its peers and the limit of the machine."""
