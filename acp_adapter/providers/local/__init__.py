"""The embedded model: a small model on this machine's own processor, without any service.

    provider.py   LocalProvider: the provider port
    models.py     which models there are, and which of them this machine has
    engine.py     the child process that runs the model, one for all sessions
    server.py     what that child does
    prompt.py     what the model is told: system text, worked examples, the conversation
    steps.py      the next step as a JSON Schema, by which the model's words are constrained
    answer.py     reads that JSON while it streams
    record.py     what was really done, as against what the model says was done

Nothing is imported here, so that the child process starts without the rest. `docs/embedded-model.md` has the numbers.
"""
