"""Amounts of money in a turn, and which of them is the price."""
