"""Who may enter the console: accounts, sessions, delays, devices, saved views."""
