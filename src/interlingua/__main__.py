"""``python -m interlingua`` is ``interlingua``."""

from interlingua.cli import main

if __name__ == "__main__":
    raise SystemExit(main())
