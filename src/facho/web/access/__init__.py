"""Log-in, sessions and permissions of people and programs; `facho.core.roles` has the rights of roles."""
