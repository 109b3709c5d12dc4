"""What is said about one subject only, each beside its own machine."""
