"""A run: its session, the fold over its ledger, acting, accepting, asking the mind, and the folder it lies in."""
