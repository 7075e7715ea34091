"""``manage.py tidegate``: commands for operators."""

from __future__ import annotations

import inspect
from argparse import ArgumentTypeError
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from ...._web.django.room import DEFAULT, project
from ...._web.django.routes import places
from ...._web.operate import CLEAR, HELP, MOST, VERBS, Operator, Refused

__all__ = ["Command"]


class Command(BaseCommand):  # type: ignore[misc]
    """The command; its first argument says what to do."""

    help = "Look after the rate limits of this project."

    def add_arguments(self, parser: CommandParser) -> None:
        """Says which arguments there are."""
        parser.add_argument("--using", default=DEFAULT, help="The name of the store in TIDEGATE.")
        verbs = parser.add_subparsers(dest="verb", required=True)
        for name in VERBS:
            method = getattr(Operator, name)
            one = verbs.add_parser(name, help=method.__doc__)
            for option, parameter in inspect.signature(method).parameters.items():
                if option == "actor":
                    one.add_argument(option, help=HELP[option])
                elif option == "keys":
                    one.add_argument(
                        "--limit", dest=option, action="append", metavar="KEY", default=[], help=HELP[option]
                    )
                elif option != "self":
                    one.add_argument(f"--{option}", type=_number, default=parameter.default, help=HELP[option])
            if name == "clear":
                one.add_argument("--yes", action="store_true", help="Do not ask for confirmation.")

    def handle(self, *_args: Any, **options: Any) -> None:
        """Does it."""
        using: str = options["using"]
        verb = getattr(Operator(project().named(using), lambda: places(using)), options["verb"])
        if options["verb"] == "clear" and not options["yes"] and input(f"{CLEAR} [y/N]: ").lower() != "y":
            raise CommandError("nothing is removed")
        try:
            for line in verb(**{name: options[name] for name in inspect.signature(verb).parameters}):
                self.stdout.write(line)
        except Refused as error:
            raise CommandError(str(error)) from None


def _number(text: str) -> int:
    if not text.isdecimal() or int(text) > MOST:
        raise ArgumentTypeError(f"must be a whole number, at most 2^53, got {text!r}")
    return int(text)
