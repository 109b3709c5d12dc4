"""Plays labelled dialogues against the whole product, and judges data, acts, repetition and outcome."""
