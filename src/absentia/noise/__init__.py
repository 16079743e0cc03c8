"""noise."""
