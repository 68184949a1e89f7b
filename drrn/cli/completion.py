"""`drrn completion SHELL`: a script that completes commands, options, their values and games.

The script is static, so that completing starts no Python. Other words are completed as files.
"""

import argparse
import shlex
import textwrap
from collections.abc import Iterable, Iterator
from pathlib import Path

from drrn.cli import Parser, parser
from drrn.diagnostics import DIAGNOSTICS
from drrn.game.make import BUILT_IN, WORLDS

NAMES = {"GAME": (*BUILT_IN, *WORLDS), "DIAGNOSTIC": tuple(DIAGNOSTICS)}  # by metavar
# What differs between the two shells of the script in completion.bash.
BASH = {
    "start": "",
    "line": """local word=${COMP_WORDS[COMP_CWORD]} command=${COMP_WORDS[1]} index=$COMP_CWORD
    local previous=${COMP_WORDS[COMP_CWORD-1]}""",
    "answer": """COMPREPLY=($(compgen -W "$names" -- "$word"))
    if [ "$files" ] && compopt -o filenames 2> /dev/null; then
        local IFS=$'\\n'
        COMPREPLY+=($(compgen -f -- "$word"))
    fi""",
    "register": "complete -o default -F _drrn drrn",
}
ZSH = {
    "start": "(( $+functions[compdef] )) || { autoload -Uz compinit && compinit; }\n",
    "line": """local word=$words[CURRENT] command=$words[2] index=$((CURRENT - 1))
    local previous=$words[CURRENT-1]""",
    "answer": """compadd -- ${=names}
    if [ "$files" ] || [ "$compstate[nmatches]" = 0 ]; then _files; fi""",
    "register": "compdef _drrn drrn",
}


def run(options: argparse.Namespace) -> None:
    root = parser(full=True)
    if options.shell == "fish":
        print("\n".join(_fish_lines(root)))
    else:
        print(_bash_script(root.commands, options.shell), end="")


def _bash_script(commands: dict[str, Parser], shell: str) -> str:
    values = []
    options = []
    arguments = []
    for name, command in commands.items():
        for each in command.all_actions():
            if each.option_strings and _takes_value(each):
                patterns = "|".join(f'"{name} {option}"' for option in each.option_strings)
                values.append(f"        {patterns}) names={_quote(_words(each))} ;;")
        options.append(f"            {name}) names={_quote(command.option_names())} ;;")
        words, files = _first_words(command)
        first = '[ "$index" != 2 ] || ' if _has_subcommands(command) else ""
        add_files = "yes" if files else ""
        arguments.append(f"            {name}) {first}names={_quote(words)} files={add_files} ;;")
    lists = {"values": values, "options": options, "arguments": arguments}
    texts = {name: "\n".join(lines) for name, lines in lists.items()}
    texts["commands"] = _quote([*commands, "--help", "--version"])
    texts |= ZSH if shell == "zsh" else BASH
    return Path(__file__).with_suffix(".bash").read_text("utf-8").format(shell=shell, **texts)


def _fish_lines(root: Parser) -> Iterator[str]:
    yield "# Completion of drrn for fish; made by: drrn completion fish"
    for name, command in root.commands.items():
        summary = _fish_help(root.summaries[name])
        yield f"complete -c drrn -n __fish_use_subcommand -f -a {name}{summary}"
        seen = f"__fish_seen_subcommand_from {name}"
        here = f"complete -c drrn -n '{seen}'"
        words, files = _first_words(command)
        if _has_subcommands(command):
            known = _quote(words)
            until = f"{seen}; and not __fish_seen_subcommand_from {' '.join(words)}"
            yield f"complete -c drrn -n '{until}' -f -a {known}"
        elif words:
            yield f"{here}{'' if files else ' -f'} -a {_quote(words)}"
        formatter = command.formatter_class(prog="")
        for each in {each.dest: each for each in command.all_actions()}.values():
            words = _words(each)
            values = f" -x -a {_quote(words)}" if words else " -r"
            for option in each.option_strings[-1:]:  # the long name
                value = values if _takes_value(each) else ""
                text = _fish_help(formatter._expand_help(each))
                yield f"{here} -l {option[2:]}{value}{text}"


def _fish_help(text: str) -> str:
    return f" -d {shlex.quote(textwrap.shorten(text, 70, placeholder=' …'))}"


def _first_words(command: Parser) -> tuple[list[str], bool]:
    """Return the words that may follow a command, and whether files may follow it as well."""
    positionals = [each for each in command._actions if not each.option_strings]
    words = [word for each in positionals for word in _words(each)]
    return words, not words or any(each.metavar == "GAME" for each in positionals)


def _has_subcommands(command: Parser) -> bool:
    return any(isinstance(each, argparse._SubParsersAction) for each in command._actions)


def _takes_value(option: argparse.Action) -> bool:
    """Whether the next word is always the value of the option."""
    return option.nargs not in (0, "?")


def _words(action: argparse.Action) -> list[str]:
    """Return the values of an argument; a setting that may be your own has them as its metavar."""
    metavar = str(action.metavar or "")
    listed = metavar.strip("{}").split(",") if metavar.startswith("{") else NAMES.get(metavar, ())
    return list(action.choices or listed)


def _quote(words: Iterable[str]) -> str:
    return shlex.quote(" ".join(words))
