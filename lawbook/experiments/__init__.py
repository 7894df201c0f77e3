"""Many runs: campaigns, and how well a mind predicts what it has not seen."""
