"""Runs a command that knows nothing of us so that it ends with us: `python guard.py PARENT STREAM COMMAND...`.

Says in a line of JSON on stdout that the command runs, or why it cannot; what the command prints goes to stderr (STREAM
is 2), or to stdout too (1), on which that line may then come second. When
stdin ends, or the parent is gone, the command is ended: its own stdin closes, then it gets a TERM, then its whole group
a KILL. When the command ends by itself, so does this, with its exit status. It is run as a file, in Python's isolated
mode, and imports nothing of ours, so that it starts at once.
"""

import json
import os
import select
import signal
import subprocess
import sys
import time

PATIENCE_S = 0.2  # for a command that ends when its stdin does
GRACE_S = 5.0


def main() -> None:
    """Guard the command until it has ended."""
    parent, stream, command = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3:]
    # A handler, since what is ignored would be ignored by the command too; for this is in the command's group.
    signal.signal(signal.SIGTERM, lambda *_: None)
    woken, wake = os.pipe()
    os.set_blocking(wake, False)
    signal.set_wakeup_fd(wake)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    try:
        child = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=stream)
    except OSError as error:
        say(error=f"{command[0]}: {'command not found' if isinstance(error, FileNotFoundError) else error.strerror}")
        sys.exit(127)
    say(pid=child.pid)
    while child.poll() is None and os.getppid() == parent:
        ready, _, _ = select.select([0, woken], [], [], 1.0)
        if woken in ready:
            os.read(woken, 4096)
        if 0 in ready and not os.read(0, 4096):
            break
    if child.poll() is None:
        end(child)
    status = child.returncode
    if os.getppid() != parent:
        os.killpg(0, signal.SIGKILL)  # else the parent does, for what the command may have left
    sys.exit(status if status >= 0 else 128 - status)


def end(child: "subprocess.Popen[bytes]") -> None:
    """End the command, kindly at first."""
    assert child.stdin is not None
    child.stdin.close()
    for wait, number in ((PATIENCE_S, signal.SIGTERM), (GRACE_S, signal.SIGKILL)):
        until = time.monotonic() + wait
        while child.poll() is None and time.monotonic() < until:
            time.sleep(0.01)
        if child.poll() is None:
            os.killpg(0, number)


def say(**fields: object) -> None:
    os.write(1, json.dumps(fields).encode() + b"\n")


if __name__ == "__main__":
    main()
