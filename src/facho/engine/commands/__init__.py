"""The commands of people. The admin, the pages, the API and the command line call these and nothing else.

Every command is one transaction and takes the time as `now`. Wrong input raises a CommandError that names
the field, and nothing is changed.

`olts`, `jobs`, `nodes` and `usual_jobs` change what is collected; `runs` starts and ends executions;
`credentials` builds SNMP credentials from the fields of a form, and `connection_test` asks an OLT what it is;
`schedule_draft` and `what_if` try a change without making it; `input_checks` has the checks of names, numbers
and choices; `setup` prepares a database.
"""
