"""Acts on what `core` decides: schedules, assigns, asks OLTs, records, recovers.

What is where: `scheduler` turns due slots into waiting executions, `assign` claims them for free pollers,
`leases` guards that one process at a time works on an OLT, `runner` runs one execution (`work` is what it has
to do, `collect` asks and decodes, `recorder` stores), `recovery` takes back what a dead process left, `probes`
brings suspended OLTs back, `pollers` counts how busy we are, and `commands` is what people can do.
"""
