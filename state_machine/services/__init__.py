"""The national list of service codes: what each is called, and which one everyday words mean."""
