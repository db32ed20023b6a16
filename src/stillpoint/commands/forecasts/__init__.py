"""`stillpoint fleet` with forecasters: rows are sorted by key on disk, then played key by key."""
