"""The background loops: lanes, pumps, periodic work."""
