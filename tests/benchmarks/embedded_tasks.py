"""How often the embedded model brings a small task to its end, with the agent's real loop and tools.

    python -m tests.benchmarks.embedded_tasks [--model NAME] [--verbose]

Each task runs in a small project of its own, with every call permitted. Right is what the files and the answer say
afterwards.
"""

from __future__ import annotations

import argparse
import asyncio
import re
import subprocess
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from attrs import frozen

from acp_adapter.agent.calls import Ruling, Workspace
from acp_adapter.agent.events import TurnEvent
from acp_adapter.agent.loop import AIAgent
from acp_adapter.config import Config
from acp_adapter.providers.local.provider import LocalProvider
from acp_adapter.providers.port import Provider
from acp_adapter.tools.port import Intent
from acp_adapter.tools.toolbox import builtin_tools
from acp_adapter.transcript import Message, ToolCall, Transcript

PROJECT = {
    "pyproject.toml": '[project]\nname = "corner-shop"\nversion = "2.3.1"\nlicense = "MIT"\n'
    'dependencies = ["attrs>=24", "rich"]\n',
    "README.md": "# Corner shop\n\nA till for a small shop.\n\nYou recieve a bill for each cart.\n",
    "CHANGELOG.md": "# Changes\n\n## 2.3.1\n\n- Prices are rounded.\n\n## 2.3.0\n\n- Carts.\n",
    "config.ini": "[server]\nhost = localhost\nport = 8080\ntimeout = 30\n",
    "main.py": 'from shop.cart import total_price\n\nprint("total:", total_price([3, 4]))\n',
    "shop/__init__.py": "",
    "shop/cart.py": "def total_price(prices):\n    # TODO: discounts for regulars\n    return sum(prices)\n",
    "shop/greeting.py": 'def greet(name):\n    return f"Good day, {name}"\n',
    "tests/test_cart.py": "from shop.cart import total_price\n\n\n"
    "def test_total():\n    assert total_price([1, 2]) == 3\n",
}

Right = Callable[[Path, str], bool]


@frozen
class Task:
    request: str
    right: Right


def says(pattern: str) -> Right:
    return lambda folder, answer: bool(re.search(pattern, answer, re.IGNORECASE | re.DOTALL))


def file(name: str, pattern: str) -> Right:
    def right(folder: Path, answer: str) -> bool:
        path = folder / name
        return path.is_file() and bool(re.search(pattern, path.read_text(), re.DOTALL))

    return right


def both(one: Right, other: Right) -> Right:
    return lambda folder, answer: one(folder, answer) and other(folder, answer)


TASKS = [
    Task("Read pyproject.toml and tell me the project's name.", says("corner-shop")),
    Task("Which file defines the function total_price?", says(r"shop/cart\.py")),
    Task("Run main.py with python and tell me what it prints.", says("total: 7")),
    Task("What is the newest version in CHANGELOG.md?", says(r"2\.3\.1")),
    Task("Which TODO is in the code?", says("discounts")),
    Task("Run the tests. Do they pass?", says("pass")),
    Task("Which port does config.ini set?", says("8080")),
    Task("What does shop/greeting.py do?", says("greet|good day")),
    Task("Create a file notes.txt that says: call the baker", file("notes.txt", "call the baker")),
    Task(
        "Write a script squares.py that prints the squares of 1 to 5, then run it.",
        both(file("squares.py", "print"), says("25")),
    ),
]

UNSEEN = [
    Task("Which host does config.ini set?", says("localhost")),
    Task("What is the license in pyproject.toml?", says("MIT")),
    Task("Which version of attrs does the project need?", says("24")),
    Task("Which function is defined in shop/greeting.py?", says(r"\bgreet\b")),
    Task("Which files mention total_price?", says(r"(?=.*main\.py)(?=.*shop/cart\.py)(?=.*test_cart\.py)")),
    Task("List the files in the folder tests.", says(r"test_cart\.py")),
    Task("Run git log and tell me the message of the newest commit.", says(r"\bBegin\b")),
    Task("How many lines does README.md have?", says(r"\b5\b|five")),
    Task("Create a file hello.py that prints hello.", file("hello.py", r"print\(.hello")),
    Task("Write a file TODO.md with the line: order flour", file("TODO.md", "order flour")),
]
"""Written after the prompt, and only measured."""

EDITS = [
    Task("In config.ini change the port from 8080 to 9090.", file("config.ini", r"localhost\nport = 9090\ntimeout")),
    Task("Fix the typo recieve in README.md.", file("README.md", r"shop\.\n\nYou receive a bill for each cart\.\n")),
    Task("Rename the function greet in shop/greeting.py to welcome.", file("shop/greeting.py", r"def welcome\(name\)")),
    Task("Set the timeout in config.ini to 60.", file("config.ini", r"port = 8080\ntimeout = 60\n")),
    Task(
        "Change the version in pyproject.toml to 2.4.0.",
        file("pyproject.toml", r'name = "corner-shop"\nversion = "2\.4\.0"'),
    ),
    Task("Make shop/greeting.py say Hello instead of Good day.", file("shop/greeting.py", 'return f"Hello, {name}"')),
]


class Everything:
    """Permits every call."""

    async def permit(self, call: ToolCall, intent: Intent) -> Ruling:
        return Ruling(None, {"verdict": "allow", "by": "mode", "mode": "bypass"})

    def hiding(self, tool: str, asked: bool) -> Callable[[Path], bool]:
        return lambda path: False

    def reads(self, paths: Sequence[Path], passed: Sequence[Path]) -> bool:
        return True


async def solve(provider: Provider, task: Task, folder: Path) -> tuple[bool, list[str]]:
    """Run one turn in `folder`; whether it came out right, and what happened, a line for each thing."""
    events: list[TurnEvent] = []

    async def chosen() -> Provider:
        return provider

    agent = AIAgent(
        choose=chosen,
        tools=builtin_tools(),
        transcript=Transcript("benchmark", None),
        system_prompt="",
        workspace=Workspace("benchmark", folder, [folder]),
        gatekeeper=Everything(),
        emit=events.append,
        max_steps=12,
    )
    stop = await agent.run_turn(Message("user", task.request))
    said = agent.transcript.messages[1:]
    answer = said[-1].text() if said else ""
    return task.right(folder, answer), [*map(_line, said), stop]


def _line(message: Message) -> str:
    calls = " ".join(f"{call.name} {call.arguments}" for call in message.calls())
    return f"{message.role}: {message.text()!r:.200} {calls:.200}"


def lay_out(folder: Path) -> None:
    for name, content in PROJECT.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)
    git = ["git", "-C", str(folder), "-c", "user.name=t", "-c", "user.email=t@localhost"]
    for words in (["init", "-q"], ["add", "."], ["commit", "-q", "-m", "Begin"]):
        subprocess.run([*git, *words], check=True, stdin=subprocess.DEVNULL)


async def measure(provider: Provider, name: str, tasks: list[Task], verbose: bool) -> None:
    right = 0
    for task in tasks:
        with tempfile.TemporaryDirectory() as place:
            folder = Path(place).resolve()
            lay_out(folder)
            begun = time.monotonic()
            solved, lines = await solve(provider, task, folder)
            right += solved
            if verbose or not solved:
                print(f"{'right' if solved else 'WRONG'} {time.monotonic() - begun:4.1f} s  {task.request}")
                print("".join(f"      {line}\n" for line in lines), end="")
    print(f"{name}: {right} of {len(tasks)} right", flush=True)


async def main() -> None:
    parser = argparse.ArgumentParser(description="Measure the embedded model on small tasks.")
    parser.add_argument("--model", default="")
    parser.add_argument("--verbose", action="store_true")
    args = parser.parse_args()
    provider = LocalProvider.of(args.model, Config.load().make_home())
    await measure(provider, "tasks", TASKS, args.verbose)
    await measure(provider, "unseen tasks", UNSEEN, args.verbose)
    await measure(provider, "edits", EDITS, args.verbose)
    await provider.aclose()


if __name__ == "__main__":
    asyncio.run(main())
