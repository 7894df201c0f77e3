"""Data that everything else speaks of: record, hypothesis, results; and small tools. Imports nothing of ours."""
