"""The errors that Wengert raises; each is also the builtin error that a user would catch."""

from wengert.engine.core.errors import (
    ArgumentError,
    ArrayAttributeError,
    AxisError,
    ConcreteError,
    DivisionError,
    DoubtfulResultWarning,
    DtypeError,
    ForgottenReturnWarning,
    FrozenRandomWarning,
    GapWarning,
    GraphError,
    IndexingError,
    KinkError,
    KinkWarning,
    LeakError,
    LimitError,
    LostDerivativeError,
    MatrixError,
    MissingExtraError,
    OutOfRangeError,
    RangeError,
    ScalarError,
    ShapeError,
    StagingError,
    UncompiledWarning,
    UnsupportedError,
    WengertError,
)

__all__ = [
    "ArgumentError", "ArrayAttributeError", "AxisError", "ConcreteError", "DivisionError", "DoubtfulResultWarning",
    "DtypeError", "ForgottenReturnWarning", "FrozenRandomWarning", "GapWarning", "GraphError", "IndexingError",
    "KinkError", "KinkWarning", "LeakError", "LimitError", "LostDerivativeError", "MatrixError",
    "MissingExtraError", "OutOfRangeError", "RangeError", "ScalarError", "ShapeError", "StagingError",
    "UncompiledWarning", "UnsupportedError", "WengertError",
]  # fmt: skip
__dir__ = __all__.copy
for _name in __all__:
    globals()[_name].__module__ = __name__  # tracebacks name what a handler would
