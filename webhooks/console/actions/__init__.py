"""The actions that staff may take, each with its consequence and its audit."""
