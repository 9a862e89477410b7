"""The real services that tests talk to: how they are installed, started and always stopped."""
