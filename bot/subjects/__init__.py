"""What a conversation can be about: one module or folder for each subject, and the table of them."""
