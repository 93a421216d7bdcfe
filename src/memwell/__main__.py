"""``python -m memwell`` is the ``memwell`` command."""

from memwell.cli import main

if __name__ == "__main__":
    main()
