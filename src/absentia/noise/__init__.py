"""Drawing noise: the continuous mechanism on a public grid, from the random bits of the system."""
