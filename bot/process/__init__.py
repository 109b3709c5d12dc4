"""The life of a process: starting, listening, failing with a sentence, ending in time."""
