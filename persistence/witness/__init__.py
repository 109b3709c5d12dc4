"""What proves that this database is the one that was written to: its server, its beat, and words kept outside of it."""
