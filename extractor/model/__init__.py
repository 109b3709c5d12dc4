"""The optional model: prompt, client, and the check of its answer against the user's words."""
