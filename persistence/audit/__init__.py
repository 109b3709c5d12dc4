"""The audit: its records, and the hash chain over them."""
