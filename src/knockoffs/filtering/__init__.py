"""From statistics w to selections: the knockoff filter, e-values, and other guarantees."""
