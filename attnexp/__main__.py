"""`python -m attnexp` is the same as `attnexp`."""

from attnexp.cli.main import main

if __name__ == "__main__":
    main()
