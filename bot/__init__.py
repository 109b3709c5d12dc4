"""Holds a conversation together: interpretation, turns, emission, delivery, and the program's front door."""
