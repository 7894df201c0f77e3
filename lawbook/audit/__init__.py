"""What a ledger claims, derived again by other code, and run again."""
