"""How things look on a page: formats, labels, masks, charts, files."""
