"""python -m absentia is the command line."""

from absentia.cli import main

if __name__ == "__main__":
    main()
