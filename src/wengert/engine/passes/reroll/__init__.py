"""Loop rerolling: repeated equations of a straight list become one loop."""
