"""Knockoff statistics: one number w per feature,
large where it tells more of y than its knockoff does.
"""
