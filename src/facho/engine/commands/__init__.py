"""The commands of people. The admin, the pages, the API and the command line call these and nothing else.

Every command is one transaction and takes the time as `now`. Wrong input raises a CommandError that names
the field, and nothing is changed.

What is where: `olts`, `jobs` and `nodes` change what is collected, and `nodes.replan` alone decides when it
runs; `runs` starts and ends executions; `keys` rotates the keys of the credentials; `setup` makes a database
ready.
"""
