"""The state machine of a session: states, events, rules, effects."""
