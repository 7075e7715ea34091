"""``manage.py tidegate``: commands for operators."""

from __future__ import annotations

from argparse import ArgumentTypeError
from collections.abc import Iterator
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from ..operate import BUDGET, ROWS, Operator, Refused
from .room import DEFAULT, project
from .routes import places

__all__ = ["Command"]


class Command(BaseCommand):  # type: ignore[misc]
    """The command; its first argument says what to do."""

    help = "Look after the rate limits of this project."

    def add_arguments(self, parser: CommandParser) -> None:
        """Says which arguments there are."""
        parser.add_argument("--using", default=DEFAULT, help="The name of the store in TIDEGATE.")
        verbs = parser.add_subparsers(dest="verb", required=True)
        verbs.add_parser("ping", help="Ask the store for a decision. Fails with the reason where it does not decide.")
        verbs.add_parser("limits", help="List the limits of every route.")
        actor = {"help": "An address, or what key returned."}
        verbs.add_parser("status", help="Show what ACTOR has left of each limit.").add_argument("actor", **actor)
        top = verbs.add_parser("top", help="Show the actors that are closest to the limits.")
        top.add_argument("--budget", type=_number, default=BUDGET, help="The most keys that are looked at.")
        top.add_argument("--count", type=_number, default=ROWS, help="The most actors that are shown.")
        reset = verbs.add_parser("reset", help="Give ACTOR all of its limits back.")
        reset.add_argument("actor", **actor)
        reset.add_argument("--limit", action="append", default=[], metavar="KEY", help="Only this limit; repeatable.")
        clear = verbs.add_parser("clear", help="Remove every entry of the limiter's namespace.")
        clear.add_argument("--yes", action="store_true", help="Do not ask for confirmation.")

    def handle(self, *_args: Any, **options: Any) -> None:
        """Does it."""
        using: str = options["using"]
        operator = Operator(project().named(using), lambda: places(using))
        verb = options["verb"]
        question = "Remove the entries of all clients? [y/N]: "
        if verb == "clear" and not options["yes"] and input(question).lower() != "y":
            raise CommandError("nothing is removed")
        lines: dict[str, Any] = {
            "ping": operator.ping,
            "limits": operator.limits,
            "status": lambda: operator.status(options["actor"]),
            "top": lambda: operator.top(options["budget"], options["count"]),
            "reset": lambda: operator.reset(options["actor"], options["limit"]),
            "clear": operator.clear,
        }
        self._show(lines[verb]())

    def _show(self, lines: Iterator[str]) -> None:
        try:
            for line in lines:
                self.stdout.write(line)
        except Refused as error:
            raise CommandError(str(error)) from None


def _number(text: str) -> int:
    if not text.isdecimal() or int(text) > 2**53:
        raise ArgumentTypeError(f"must be a whole number, at most 2^53, got {text!r}")
    return int(text)
