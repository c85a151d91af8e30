"""Knockoff generators: fit on X alone, then sample X̃ given X."""
