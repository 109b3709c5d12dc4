"""The pages of companies, and what can be mended there."""
