"""Turns words into field candidates, doubts and an intent; its answer is data and decides nothing."""
