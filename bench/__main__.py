from bench.harness import app

app(prog_name="bench")
