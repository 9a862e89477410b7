"""How people and programs get in, and what they may do: `facho.core.roles` has the table."""
