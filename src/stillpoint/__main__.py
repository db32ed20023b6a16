"""`python -m stillpoint`: the command line."""

from stillpoint.cli import app

if __name__ == "__main__":
    app(prog_name="stillpoint")
