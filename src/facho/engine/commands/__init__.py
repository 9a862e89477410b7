"""What people can do, whoever asks for it: the admin, the API and the command line call these.

Every command is one transaction and takes the time as `now`. Bad input is a CommandError that names the
field, and then nothing has changed.

What is where: `olts`, `jobs` and `nodes` change what is collected, and `nodes.replan` alone decides when it
runs; `runs` starts and ends executions; `keys` rotates the keys of the credentials; `setup` makes a database
ready.
"""
