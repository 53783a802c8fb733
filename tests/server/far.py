"""Stands for `ssh -tt HOST COMMAND...`: the command runs in another session, on a terminal of its own, as a far sshd's
child does, and nothing but a socket ties it to this process. When the socket ends the terminal does, which hangs up on
the command."""

import os
import pty
import select
import socket
import sys


def main() -> None:
    assert sys.argv[1] == "-tt"
    near, far = socket.socketpair()
    if os.fork() == 0:
        os.setsid()
        if os.fork():
            os._exit(0)
        near.close()
        for stream in range(3):
            os.dup2(os.open(os.devnull, os.O_RDWR), stream)
        serve(far, sys.argv[3:])
    far.close()
    os.wait()
    while data := near.recv(65536):
        os.write(1, data)


def serve(far: socket.socket, command: list[str]) -> None:
    """The far end, in a session of its own; the command is in one more."""
    pid, terminal = pty.fork()
    if pid == 0:
        os.execvp(command[0], command)
    while True:
        ready, _, _ = select.select([far.fileno(), terminal], [], [])
        if far.fileno() in ready and not far.recv(65536):
            os._exit(0)
        if terminal in ready:
            try:
                far.sendall(os.read(terminal, 65536))
            except OSError:
                os._exit(0)


if __name__ == "__main__":
    main()
