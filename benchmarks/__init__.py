"""Experiments and measurements of `knockoffs`, outside the package that users install."""
