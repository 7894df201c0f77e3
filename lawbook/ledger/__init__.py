"""What a run remembers: the ledger, which is the truth, and the git repository of versions, which is derived from it."""
