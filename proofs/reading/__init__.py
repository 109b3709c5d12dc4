"""The evaluation of an extractor over a labelled corpus."""
