"""The SNMP client. No Django; the standard library, and cryptography for SNMPv3.

    async with Client() as client:
        agent = await client.agent(Target("10.0.0.1", community="public"))
        table = await agent.walk_table([Oid.parse("1.3.6.1.2.1.2.2.1.2"), Oid.parse("1.3.6.1.2.1.2.2.1.8")])
        if not table.complete:
            print(table.reason)

What is where: `values` is the encoding, `message` the PDUs, `page` the fast reading of an answer; `usm` and
`v3` are SNMPv3's keys and messages; `transport` is where datagrams go, `peer` is one agent behind the socket;
`pacing` limits what is asked of it; `requester`, `get`, `walk` and `bad_row_search` ask, and handle bad
answers; `get_names` is the fast encoding and reading of a GET; `errors` are the names of these. `client` puts
them together; `closed_port` is for commands that test a connection.
"""

from facho.snmp.client import Agent, Client, Target
from facho.snmp.errors import SnmpError
from facho.snmp.get import GetResult
from facho.snmp.message import Version
from facho.snmp.pacing import Learned, Limits
from facho.snmp.peer import Load
from facho.snmp.values import Missing, Oid, Value
from facho.snmp.walk import WalkResult

__all__ = [
    "Agent",
    "Client",
    "GetResult",
    "Learned",
    "Limits",
    "Load",
    "Missing",
    "Oid",
    "SnmpError",
    "Target",
    "Value",
    "Version",
    "WalkResult",
]
