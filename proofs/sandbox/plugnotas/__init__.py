"""The simulated PlugNotas and its city."""
