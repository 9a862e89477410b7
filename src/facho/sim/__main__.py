"""The child of FleetProcess. People start a fleet with `facho sim`."""

import sys

from facho.sim.process import serve

if __name__ == "__main__":
    serve(sys.stdin, sys.stdout)
