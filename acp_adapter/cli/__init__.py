"""Every command a person types."""
