"""Figures: how fast the house is, beside its peers and the limit of the machine; nothing else depends on it."""
