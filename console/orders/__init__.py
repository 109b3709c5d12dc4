"""Orders that no conversation gave, as staff see them."""
