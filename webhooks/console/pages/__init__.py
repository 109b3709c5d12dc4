"""The pages that only read."""
