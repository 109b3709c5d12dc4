"""The invoice under construction: fields, draft, summary, content."""
