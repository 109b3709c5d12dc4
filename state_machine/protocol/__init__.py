"""The emission protocol: what an answer means, when to ask, when to send again."""
