"""How fast it is, measured beside something of the same machine and the same minute. Run: `python -m tests.benchmarks`.

Not timed tests: a busy machine fails nothing here. Every figure comes with a ratio to a yardstick that was measured in
the same run, so that numbers of different machines can be compared. POSIX only (CPU times of child processes).
"""
