"""What is not ordered by conversation: whose turn it is, in whose hands it is, and what a late commit may change."""
