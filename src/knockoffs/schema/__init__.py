"""What a table consists of: columns, and the features that are swapped as a whole."""
