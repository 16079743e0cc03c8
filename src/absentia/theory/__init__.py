"""The results, one short file each: no tables, no files, no noise drawn."""
