"""The brands whose tables can be simulated. A brand is data: see Family."""
