"""From a table and a target to discoveries."""
