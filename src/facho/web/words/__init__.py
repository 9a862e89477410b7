"""The texts of the pages, the admin and the API: names of states and events, facts, reasons."""
