"""Companies, people, and what the law asks of data about them."""
