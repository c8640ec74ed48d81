"""How often the embedded model takes the right tool with the right argument as its first step.

    python -m tests.benchmarks.embedded_requests [--model NAME] [--set seen|simple|phrased] [--verbose]

The requests of `seen` were looked at while prompt and examples were written. The twenty of `simple`, and the
twenty of `phrased`, which ask for the same in other words, were written afterwards and only measured: theirs are the
numbers to publish. No request is one of the worked examples. A step counts as right when tool
and arguments match one of the listed forms (regular expressions for the whole argument).
"""

from __future__ import annotations

import argparse
import asyncio
import json
import re
import time
from collections.abc import Mapping
from typing import Any

from attrs import frozen

from acp_adapter.config import Config
from acp_adapter.providers.local.provider import LocalProvider
from acp_adapter.providers.port import Completed, ModelRequest, ToolSpec
from acp_adapter.tools.toolbox import builtin_tools
from acp_adapter.transcript import Message

SAY = "say"
"""Stands for an answer in words; its argument `text` is what was said."""


@frozen
class Form:
    """One right first step."""

    tool: str
    arguments: Mapping[str, str]

    def fits(self, tool: str, arguments: Mapping[str, Any]) -> bool:
        return tool == self.tool and all(
            re.fullmatch(pattern, str(arguments.get(name, "")), re.DOTALL | re.IGNORECASE)
            for name, pattern in self.arguments.items()
        )


@frozen
class Case:
    request: str
    right: tuple[Form, ...]


def case(request: str, *right: Form) -> Case:
    return Case(request, right)


def read(path: str) -> Form:
    return Form("read_file", {"path": rf"(\./)?{path}"})


def folder(path: str) -> Form:
    return Form("list_directory", {"path": rf"(\./)?{path}/?"})


def files(pattern: str) -> Form:
    return Form("glob", {"pattern": rf"(\./)?{pattern}"})


def text(pattern: str) -> Form:
    return Form("grep", {"pattern": pattern})


def run(command: str) -> Form:
    return Form("run_command", {"command": command})


def write(path: str, content: str) -> Form:
    return Form("write_file", {"path": rf"(\./)?{path}", "content": content})


def say(words: str = ".+") -> Form:
    return Form(SAY, {"text": words})


SEEN = [
    case("Read pyproject.toml and tell me the project's name.", read(r"pyproject\.toml")),
    case("What does src/app.py do?", read(r"src/app\.py")),
    case("List the files in the docs folder.", folder("docs"), run(r"ls( -\S+)? docs/?")),
    case("Find all Python files in this project.", files(r"(\*\*/)?\*\.py")),
    case("Where is the function parse_args defined?", text(r"(def )?parse_args.*")),
    case("Run the tests.", run(r".*(pytest|unittest).*")),
    case("Show me the git log.", run("git log.*")),
    case("Create a file hello.txt with the text Hello, world", write(r"hello\.txt", r"Hello, world\s*")),
    case("Search for TODO comments.", text(r".*TODO.*")),
    case("Which version of Python is installed?", run("python3? (--version|-V)")),
    case("What is in this directory?", folder(r"\."), run(r"ls( .*)?")),
    case("Find all markdown files under docs.", files(r"docs/(\*\*/)?\*\.md")),
    case("Show the last 5 commits.", run(r"git log.*\b5\b.*")),
    case("Open README.md.", read(r"README\.md")),
    case("Write a Python script fib.py that prints the first ten Fibonacci numbers.", write(r"fib\.py", ".*print.*")),
    case("Hello!", say()),
    case("Explain in one sentence what a decorator is in Python.", say(".*function.*")),
    case("Run python main.py", run(r"python3? main\.py")),
    case("Which files import requests?", text(r".*import requests.*|requests")),
    case("How many lines does src/app.py have?", run(r"wc -l (< )?(\./)?src/app\.py"), read(r"src/app\.py")),
    case("which dependencies does setup.cfg list?", read(r"setup\.cfg")),
    case("Can you have a look at lib/parser.js and summarise it for me?", read(r"lib/parser\.js")),
    case("What files are inside tests/unit?", folder("tests/unit"), files(r"tests/unit/(\*\*/)?\*(\.\*)?")),
    case("I need every .ts file of this repository", files(r"(\*\*/)?\*\.ts")),
    case("I'm looking for the class HttpClient, where is it?", text(".*HttpClient.*")),
    case("please execute the test suite", run(".*(pytest|unittest|test).*")),
    case("is the working tree clean? use git status", run("git status.*")),
    case("Make a new file called notes/today.md that says: buy milk", write(r"notes/today\.md", r"buy milk\.?\s*")),
    case("Is there any FIXME left in the code?", text(".*FIXME.*")),
    case("tell me the node version", run("node (--version|-v)")),
    case("ls src", folder("src"), run(r"ls (-\S+ )?(\./)?src/?")),
    case("Where are the yaml files under config/ ?", files(r"config/(\*\*/)?\*\.(yaml|yml|ya?ml)"), folder("config")),
    case("What changed since the last commit?", run("git (diff|log|status|show).*")),
    case("show CHANGELOG.md please", read(r"CHANGELOG\.md")),
    case(
        "Add a shell script greet.sh which prints good morning", write(r"greet\.sh", ".*(echo|printf).*good morning.*")
    ),
    case("thanks, that was great", say()),
    case("What is the difference between a list and a tuple in Python?", say(".*(mutable|change|modif).*")),
    case("Use the shell to show the disk usage of this folder", run(r"(du|df)\b.*")),
    case("Who calls connect_db()?", text(".*connect_db.*")),
    case("Count the lines of data.csv", run(r"wc -l (< )?(\./)?data\.csv"), read(r"data\.csv")),
    case("Print the contents of requirements.txt", read(r"requirements\.txt"), run(r"cat (\./)?requirements\.txt")),
    case("What is written in docs/install.md?", read(r"docs/install\.md")),
    case("Which folders are in the examples directory?", folder("examples"), run(r"ls .*examples/?")),
    case("Find every file that ends in .rs", files(r"(\*\*/)?\*\.rs")),
    case(
        "Are there any HTML templates in web/templates?",
        files(r"web/templates/(\*\*/)?\*\.html"),
        folder("web/templates"),
    ),
    case("Where do we define the constant MAX_RETRIES?", text(r".*MAX_RETRIES.*")),
    case("Look for the word deprecated in the sources.", text(".*deprecated.*")),
    case("Show me all places that use send_mail.", text(r".*send_mail.*")),
    case("Run the unit tests with pytest.", run(".*pytest.*")),
    case("Which branch am I on?", run("git (branch|status|rev-parse|symbolic-ref).*")),
    case("Show the diff of my uncommitted changes.", run("git diff.*")),
    case("Who made the last commit and when?", run("git (log|show).*")),
    case("Is ffmpeg available on this machine?", run("(ffmpeg -?-version|which ffmpeg|command -v ffmpeg).*")),
    case("Execute scripts/build.sh", run(r"(bash |sh |\./|source )?(\./)?scripts/build\.sh")),
    case(
        "Create a file todo.txt containing the line: water the plants", write(r"todo\.txt", r"water the plants\.?\s*")
    ),
    case(
        "Write a Python file area.py with a function that computes the area of a circle.",
        write(r"area\.py", ".*def .*"),
    ),
    case("Make a .gitignore that ignores *.log files", write(r"\.gitignore", r".*\*\.log.*")),
    case("How are you today?", say()),
    case(
        "What does the HTTP status code 404 mean?", say(".*(not found|not be found|could not find|cannot find|exist).*")
    ),
    case("In Python, how do I reverse a list?", say(r".*(revers|\[::-1\]).*")),
    case("requirements.txt, what's in there", read(r"requirements\.txt"), run(r"cat (\./)?requirements\.txt")),
    case("please read docs/install.md and give me the short version", read(r"docs/install\.md")),
    case("contents of examples?", folder("examples"), run(r"ls .*examples/?"), files(r"examples/\*.*")),
    case("give me a list of the Rust files", files(r"(\*\*/)?\*\.rs")),
    case(
        "I want to see the html files below web/templates",
        files(r"web/templates/(\*\*/)?\*\.html"),
        folder("web/templates"),
    ),
    case("MAX_RETRIES - which file sets it?", text(r".*MAX_RETRIES.*")),
    case("grep for deprecated", text(".*deprecated.*"), run("grep .*deprecated.*")),
    case("Who uses send_mail?", text(r".*send_mail.*")),
    case("Could you check whether the tests are green?", run(".*(pytest|unittest|test).*")),
    case("what's the current git branch", run("git (branch|status|rev-parse|symbolic-ref).*")),
    case("what did I change? show me the git diff", run("git diff.*")),
    case("Tell me about the most recent commit.", run("git (log|show).*")),
    case("do I have ffmpeg?", run("(ffmpeg -?-version|which ffmpeg|command -v ffmpeg).*")),
    case("please start scripts/build.sh", run(r"(bash |sh |\./|source )?(\./)?scripts/build\.sh")),
    case("I need a file todo.txt, put 'water the plants' in it", write(r"todo\.txt", r"water the plants\.?\s*")),
    case("Put a function for the area of a circle into a new file area.py", write(r"area\.py", ".*def .*")),
    case("add a .gitignore for *.log", write(r"\.gitignore", r".*\*\.log.*")),
    case("hey there", say()),
    case("explain HTTP 404", say(".*(not found|not be found|could not find|cannot find|exist).*")),
    case("how can a list be reversed in python?", say(r".*(revers|\[::-1\]).*")),
    case("Show the file Makefile.am", read(r"Makefile\.am"), run(r"cat (\./)?Makefile\.am")),
    case("What is in package.json?", read(r"package\.json")),
    case("Read src/main.rs and explain what it does.", read(r"src/main\.rs")),
    case("Show me what is in the scripts folder.", folder("scripts"), run(r"ls .*scripts/?")),
    case("List everything in the current directory.", folder(r"\."), run("ls.*")),
    case("Find all SQL files.", files(r"(\*\*/)?\*\.sql")),
    case("Find the shell scripts in tools.", files(r"tools/(\*\*/)?\*\.sh")),
    case("Where is the class Invoice defined?", text(r".*Invoice.*")),
    case("Search the code for the text connection refused.", text(".*connection refused.*")),
    case("Which files import the logging module?", text(r".*import logging.*|logging")),
    case("Run all tests.", run(".*(pytest|unittest|test).*")),
    case("Run ./configure", run(r"(bash |sh )?\./configure")),
    case("Show the git status.", run("git status.*")),
    case("List the git branches.", run("git branch.*")),
    case("Which version of gcc is installed?", run("gcc (--version|-v|-dumpversion).*")),
    case("Create a file VERSION.txt with the content 1.0.0", write(r"VERSION\.txt", r"1\.0\.0\s*")),
    case(
        "Write a Python script countdown.py that counts from 10 down to 1.",
        write(r"countdown\.py", ".*(range|while).*"),
    ),
    case("Create an empty package file app/__init__.py", write(r"app/__init__\.py", ".*")),
    case("Good evening!", say()),
    case("What is a deadlock?", say(".*(wait|block|resource|lock).*")),
    case("Makefile.am please", read(r"Makefile\.am"), run(r"cat (\./)?Makefile\.am")),
    case("could you open package.json for me", read(r"package\.json")),
    case("I don't understand src/main.rs, help me with it", read(r"src/main\.rs")),
    case("what do we keep under scripts/?", folder("scripts"), run(r"ls .*scripts/?"), files(r"scripts/\*.*")),
    case("which files and folders do we have here?", folder(r"\."), run("ls.*")),
    case("where are our .sql files", files(r"(\*\*/)?\*\.sql")),
    case("any shell scripts below tools?", files(r"tools/(\*\*/)?\*\.sh")),
    case("I need the definition of Invoice", text(r".*Invoice.*")),
    case("does the phrase connection refused appear anywhere?", text(".*connection refused.*")),
    case("who imports logging?", text(r".*import logging.*|logging")),
    case("let the tests run", run(".*(pytest|unittest|test).*")),
    case("please call ./configure in the shell", run(r"(bash |sh )?\./configure")),
    case("git status?", run("git status.*")),
    case("what branches does this repository have?", run("git branch.*")),
    case("how old is my gcc, which version?", run("gcc (--version|-v|-dumpversion).*")),
    case("put 1.0.0 into a new file VERSION.txt", write(r"VERSION\.txt", r"1\.0\.0\s*")),
    case(
        "I'd like a countdown from 10 to 1 in python, save it as countdown.py",
        write(r"countdown\.py", ".*(range|while).*"),
    ),
    case("app needs an __init__.py, make app/__init__.py", write(r"app/__init__\.py", ".*")),
    case("see you tomorrow", say()),
    case("explain to me what deadlock means", say(".*(wait|block|resource|lock).*")),
]

SIMPLE = [
    case("Read tox.ini and tell me which Python versions it uses.", read(r"tox\.ini")),
    case("What does the function in lib/money.py do?", read(r"lib/money\.py")),
    case("Show me the beginning of server/index.ts", read(r"server/index\.ts"), run(r"head .*server/index\.ts")),
    case("Open the readme.", read(r"README\.md")),
    case("List the migrations folder.", folder("migrations"), run(r"ls .*migrations/?")),
    case("What files are in this folder?", folder(r"\."), run("ls.*")),
    case("Find all Java files.", files(r"(\*\*/)?\*\.java")),
    case("Find the PNG images in static/img.", files(r"static/img/(\*\*/)?\*\.png")),
    case("Where is the variable DATABASE_URL used?", text(".*DATABASE_URL.*")),
    case("Search for the string invalid token.", text(".*invalid token.*")),
    case("Which files define a class called Parser?", text(".*Parser.*")),
    case("Run pytest.", run(".*pytest.*")),
    case("Run npm install", run("npm install")),
    case("Show the last 3 git commits.", run(r"git log.*\b3\b.*")),
    case("Which files did I change since the last commit?", run("git (diff|status).*")),
    case("Which version of cargo is installed?", run("cargo (--version|-V).*")),
    case("Create a file names.txt with the content Ada", write(r"names\.txt", r"Ada\s*")),
    case("Write a Python script dice.py that prints a random number from 1 to 6.", write(r"dice\.py", ".*random.*")),
    case("Hi!", say()),
    case("What is a REST API?", say(".*(http|web|interface|resource|client|request).*")),
]

PHRASED = [
    case("tox.ini: which Python versions?", read(r"tox\.ini")),
    case("I'd like to know what lib/money.py is for", read(r"lib/money\.py")),
    case("let me see server/index.ts", read(r"server/index\.ts"), run(r"(cat|head) .*server/index\.ts")),
    case("what does our readme say?", read(r"README\.md")),
    case("what's in migrations/", folder("migrations"), run(r"ls .*migrations/?"), files(r"migrations/\*.*")),
    case("show me around, what is in here?", folder(r"\."), run("ls.*")),
    case("do we have Java sources? give me the .java files", files(r"(\*\*/)?\*\.java")),
    case("which png images are under static/img?", files(r"static/img/(\*\*/)?\*\.png")),
    case("DATABASE_URL, who reads that?", text(".*DATABASE_URL.*")),
    case("somewhere we say invalid token, where is it?", text(".*invalid token.*")),
    case("find me the Parser class", text(".*Parser.*")),
    case("time to test, use pytest", run(".*pytest.*")),
    case("do an npm install please", run("npm install")),
    case("the three newest commits, please", run("git log.*")),
    case("what have I modified? ask git", run("git (diff|status).*")),
    case("is cargo there and how new is it", run("cargo (--version|-V).*")),
    case("make names.txt, it should just say Ada", write(r"names\.txt", r"Ada\s*")),
    case("write me dice.py, a program that throws a die", write(r"dice\.py", ".*random.*")),
    case("thank you!", say()),
    case("tell me in short what REST means", say(".*(http|web|interface|resource|client|request|represent).*")),
]

SETS = {"seen": SEEN, "simple": SIMPLE, "phrased": PHRASED}


async def first_step(provider: LocalProvider, request: str) -> tuple[str, Mapping[str, Any]]:
    """The tool that the model calls first, with its arguments."""
    specs = [ToolSpec(tool.name, tool.description, tool.parameters) for tool in builtin_tools().values()]
    wanted = ModelRequest("", [Message("user", request)], specs)
    async for event in provider.stream(wanted):
        if isinstance(event, Completed):
            calls = event.message.calls()
            if calls:
                return calls[0].name, json.loads(calls[0].arguments)
            return SAY, {"text": event.message.text()}
    raise AssertionError("a stream ends with Completed")


async def measure(provider: LocalProvider, name: str, verbose: bool) -> None:
    right = 0
    begun = time.monotonic()
    for each in SETS[name]:
        at = time.monotonic()
        tool, arguments = await first_step(provider, each.request)
        fits = any(form.fits(tool, arguments) for form in each.right)
        right += fits
        if verbose or not fits:
            seconds = time.monotonic() - at
            print(f"{'right' if fits else 'WRONG'} {seconds:4.1f} s  {each.request} → {tool} {dict(arguments)!r:.120}")
    print(f"{name}: {right} of {len(SETS[name])} right, {(time.monotonic() - begun) / len(SETS[name]):.1f} s each")


async def main() -> None:
    parser = argparse.ArgumentParser(description="Measure the embedded model's first steps.")
    parser.add_argument("--model", default="")
    parser.add_argument("--set", dest="sets", action="append", choices=list(SETS))
    parser.add_argument("--verbose", action="store_true")
    args = parser.parse_args()
    provider = LocalProvider.of(args.model, Config.load().make_home())
    await provider.warm()
    for name in args.sets or SETS:
        await measure(provider, name, args.verbose)
    await provider.aclose()


if __name__ == "__main__":
    asyncio.run(main())
