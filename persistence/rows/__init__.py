"""What inbox rows and outbox messages say: each kind is one typed value, written and read in one place."""
