"""Turns words into field candidates, doubts and an intent, as data."""
