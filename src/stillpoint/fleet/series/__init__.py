"""Series of many keys from rows in any order: slots of time, rounds, scores, states by part."""
