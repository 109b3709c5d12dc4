"""The user's words made comparable: folding, numerals, marks, vocabularies."""
