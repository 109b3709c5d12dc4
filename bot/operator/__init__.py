"""What an operator's command does, apart from its words."""
