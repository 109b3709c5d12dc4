"""Value objects and text rules that all decisions share."""
