"""``python -m understudy``: the command line."""

from understudy.cli import main

if __name__ == "__main__":
    main(prog_name="understudy")
