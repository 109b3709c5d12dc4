"""Decides, never does: states, events, effects and the rules between them."""
