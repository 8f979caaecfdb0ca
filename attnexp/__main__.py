"""`python -m attnexp` is the same as `attnexp`."""

from attnexp.cli import main

if __name__ == "__main__":
    main()
