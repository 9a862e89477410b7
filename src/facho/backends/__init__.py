"""The two ways to run: all in one process, or workers that get the ids of executions over Celery."""
