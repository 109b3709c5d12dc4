"""The tables of what ADN told."""
