"""Plans inside programs: search, live predictions, populations of hypotheses and where they disagree."""
