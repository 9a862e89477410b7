"""What is decided, as pure functions: the standard library alone, nothing read and nothing written.

The time is always an argument, an aware datetime in UTC, so that every rule can be tried at any instant.

What is where, one rule each: `interval` is how often, `schedule` when a node runs, `order` who goes first,
`chain` which nodes run as one, `batch` how many ONUs are asked at once, `retry` what follows a failure,
`delay` why a run was late, `pool` how many pollers are free, `lease` for how long an OLT is held, `cpu` how
gently a busy OLT is asked, `presence` when an ONU is gone, `maintenance` when an OLT is left alone,
`retention` what is too old to be kept, `disk` how long there is room for more, `plan` what an OLT
will do in an hour, `feasibility` whether that fits. `frames`, `hours` and `packing` are how numbers over time
are written.
"""
