"""`python -m evonorm` is the command line."""

from evonorm.cli import main

main()
