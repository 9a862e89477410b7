"""The past of `facho demo`: what happened in a simulated month, and the rows that tell of it."""
