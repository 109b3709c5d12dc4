"""What the user is doing with a turn: intents, requests, yes and no."""
