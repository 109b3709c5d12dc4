"""The rows of the table of figures."""
