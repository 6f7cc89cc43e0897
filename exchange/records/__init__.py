"""The vocabulary of records: one class per kind, each carrying all that its reader needs."""
