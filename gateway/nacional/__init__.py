"""The documents of the national NFS-e: made, checked, signed and read, without any network."""
