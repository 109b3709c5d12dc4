"""The PlugNotas channel."""
