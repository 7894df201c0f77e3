"""Everything of ARC-AGI-3: games, local and over REST, recordings, scorecards, submissions."""
