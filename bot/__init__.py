"""The running product: turns of conversations, orders to the authority, delivery, loops, and the command line."""
