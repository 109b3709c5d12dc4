"""Signs and draws national documents in processes of their own."""
