"""`python -m koordpy`."""

from koordpy.cli import main

main(prog_name="koordpy")
