"""Is a program right? The one comparison of predictions with observations, replay of the whole record, counterexamples."""
