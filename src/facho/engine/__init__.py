"""Acts on what `core` decides. One package for each stage of the flow of data; imports point down this list.

commands     people's actions, the only entry point for pages, API and command line
schedule     due slots become executions, executions are claimed and run
upkeep       retention, history, schema upgrades, health, exports
record       stores a collection in one transaction
coordinate   changes, quotas, plans, forecasts, maintenance
collect      asks an OLT and decodes its answers
events       coordinator log and notifications
process      loops, leases and transactions of one process
"""
