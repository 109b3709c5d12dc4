"""Text as a value: its length, its forms, and where it came from."""
