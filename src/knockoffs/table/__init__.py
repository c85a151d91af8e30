"""Tables: read and checked once, written back, from and to files."""
