"""What all parts are built on: learners, state, arithmetic, checks, files."""
