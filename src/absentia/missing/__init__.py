"""missing."""
