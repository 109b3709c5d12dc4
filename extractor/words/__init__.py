"""The lists of words that the readers know, as files, and the module that reads them."""
