"""The numerical engine: torch tensors in, torch tensors out; no scikit-learn, no pandas."""
