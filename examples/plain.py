"""An agent without a model: finds a word in the project, and writes down where it is, if you let it."""

import acp_adapter


def agent(turn):
    word = turn.prompt.strip()
    yield f"Looking for `{word}` … "
    found = turn.wait(turn.call_tool("grep", {"pattern": word}))
    wrote = turn.wait(turn.call_tool("write_file", {"path": "found.txt", "content": found.text + "\n"}))  # asks you
    yield "I did not write it down." if wrote.failed else "`found.txt` says where it is."


if __name__ == "__main__":
    acp_adapter.serve(agent)
