"""The command under way, as it may be given again."""

import click

from ..scenario.secret import masked


def words() -> list[str]:
    """Its words, in the order of --help; without the defaults, and without the folder of its run."""
    context = click.get_current_context()
    found = ["loadsim", *context.command_path.split()[1:]]
    for param in context.command.params:
        value = context.params[str(param.name)]
        if param.name == "out" or value in (None, False, ()) or value == param.get_default(context):
            continue
        values = value if isinstance(value, tuple) else (value,)
        if isinstance(param, click.Option):
            name = max(param.opts, key=len)
            found += [name] if param.is_flag else [word for each in values for word in (name, masked(str(each)))]
        else:
            found += [str(each) for each in values]
    return found
