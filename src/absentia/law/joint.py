"""Laws of several blocks of columns at once: independent ones (T9) and ones masked together by a design (T10)."""

from absentia.law.blocks import Blocks
from absentia.law.forms import Forms

__all__ = ["Blocks", "Forms"]
