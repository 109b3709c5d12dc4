"""The drawings of the state machines, made from the tables, and an example of each event."""
