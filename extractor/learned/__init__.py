"""The second reader: learned from labelled messages, small, offline, deterministic, and without the rules' code."""
