"""What may be asked, how far one row moves it, and how noisy sums become answers."""
