"""`acp-adapter` and `python -m acp_adapter`: bare, the agent on stdio; with arguments, the command line.

Imports nothing but what it goes on with: an editor waits for the agent's first answer.
"""

from __future__ import annotations

import sys


def main() -> int:
    """The exit code."""
    if len(sys.argv) == 1:
        from acp_adapter.acp.stdio import run

        return run()
    from acp_adapter.cli.main import main as command_line

    return command_line()


if __name__ == "__main__":
    sys.exit(main())
