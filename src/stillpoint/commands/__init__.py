"""The command line: what is read, played and written."""
