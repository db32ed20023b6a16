"""`python -m stillpoint`: the command line."""

from stillpoint._start import main

if __name__ == "__main__":
    main()
