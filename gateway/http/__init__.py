"""HTTP to the outside: bounded clients, exact JSON, recordings without secrets."""
