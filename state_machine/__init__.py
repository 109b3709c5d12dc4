"""Pure decisions: states, events, effects and the rules between them."""
