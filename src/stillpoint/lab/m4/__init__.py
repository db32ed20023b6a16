"""The M4 competition: its files, its measures and its benchmark."""
