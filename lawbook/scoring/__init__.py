"""What a run is worth: counts as the official scorecard has them, RHAE, and tables beside what is published."""
