"""What a proposal is that another system sends: its states."""
