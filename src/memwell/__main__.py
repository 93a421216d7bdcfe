"""``python -m memwell`` is the ``memwell`` command."""

import signal


def main() -> None:
    """Run the command. An interrupt while its modules are loaded ends it without a traceback."""
    handled = signal.getsignal(signal.SIGINT) is signal.default_int_handler
    if handled:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    from memwell.cli import main as run  # noqa: PLC0415 - it takes a second to load

    if handled:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    run()


if __name__ == "__main__":
    main()
