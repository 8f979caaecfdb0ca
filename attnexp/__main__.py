"""`python -m attnexp` is the same as `attnexp`."""

import sys

if __name__ == "__main__":
    if not sys.flags.safe_path:
        del sys.path[0]  # the current directory, where a random.py or json.py may lie

    from attnexp.cli.main import main

    main()
