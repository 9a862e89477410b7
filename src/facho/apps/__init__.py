"""The stored data: thin Django apps, each with models, reads (`selectors`) and writes (`store`)."""
