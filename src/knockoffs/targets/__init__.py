"""What y is: a quantity, classes, or times to an event."""
