"""What the console reads and keeps: accounts, queues, cases, figures, audit."""
