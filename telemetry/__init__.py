"""Figures and logs for the operator, free of personal data."""
