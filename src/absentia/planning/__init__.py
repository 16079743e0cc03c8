"""Plans: schema, queries, missingness and budget in; guarantee, noise and expected errors out. Opens no data."""
