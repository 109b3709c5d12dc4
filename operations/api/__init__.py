"""What an operator decides about the API: who may call it, and who approves."""
