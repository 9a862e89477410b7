"""Acts on what `core` decides: schedules, assigns, asks OLTs, records, recovers.

What is where: `scheduler` turns due slots into waiting executions, `assign` claims them for free pollers,
`leases` guards that one process at a time works on an OLT, `runner` runs one execution (`work` is what it has
to do, `planning` finds that out, `collect` asks and decodes, `recorder` stores), `recovery` takes back what a
dead process left, `probes` brings back what was suspended, `maintenance` leaves OLTs alone, `pollers` counts
how busy we are, `housekeeping` keeps the database in order (`history` closes hours, `retention` removes what
is too old, `storage` measures its growth), `journal` tells of decisions in the coordinator's log
(`journal_writing` makes the entries, `journal_rows` brings them to the database, `execution_logs` has a line
for each execution), `plans` predicts the hour of each OLT (`workloads` is what it has to do, `plan_keeping`
follows and closes, `what_if` tries a change on a `schedule_draft`), `condition` and `health` tell how it
goes, `loop` does all of it in one process, and `commands` is what people can do.
"""
