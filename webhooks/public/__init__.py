"""Pages for people's browsers, without a login: who holds the address of one may use it."""
