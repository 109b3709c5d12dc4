"""Figures and logs for the operator; no personal data."""
