"""How the judge reads the book of each channel."""
