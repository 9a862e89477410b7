class Unavailable(Exception):
    """A service that cannot be had here, and why. Tests that need it are skipped; in CI they fail.

    An optional one never fails: it is a second opinion that not every machine can run.
    """

    def __init__(self, service: str, why: str, *, optional: bool = False) -> None:
        super().__init__(f"{service} is unavailable: {why}")
        self.service = service
        self.why = why
        self.optional = optional
