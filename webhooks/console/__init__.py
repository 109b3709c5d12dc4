"""The staff's pages: show what happened to an invoice, and take the few actions that are safe."""
