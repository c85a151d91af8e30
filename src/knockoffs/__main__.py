"""`python -m knockoffs`."""

from knockoffs.cli import main

main(prog_name="knockoffs")
