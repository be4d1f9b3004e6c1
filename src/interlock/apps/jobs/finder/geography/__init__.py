"""Geography: cities, regions and countries, and what a posting or a profile says about them."""
