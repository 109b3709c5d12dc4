"""The database connection: pool, transactions, batching, migrations."""
