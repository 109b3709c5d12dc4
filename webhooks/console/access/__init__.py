"""Who may enter the console, and which route each role passes."""
