"""The budget book: charges that are durable before noise is drawn, and totals that are recomputed (T7)."""
