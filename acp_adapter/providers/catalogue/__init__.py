"""What is known of models without asking anybody: windows, abilities and prices, from a table made at build time."""
