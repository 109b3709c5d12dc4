"""What the blows of a storm fall on: the processes of the product, PostgreSQL and Valkey."""
