"""The public register of companies."""
