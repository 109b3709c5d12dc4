"""The state machine of a cancellation, and its reconciliation with the authority."""
