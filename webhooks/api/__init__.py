"""The API for other systems: they propose, a person of the company decides."""
