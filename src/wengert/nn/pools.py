"""Layers that pool signals, images and volumes."""

from __future__ import annotations

import dataclasses
from typing import Any, ClassVar

from wengert.core.tree import static
from wengert.nn.checks import check_spatial, setting
from wengert.nn.pooling import adaptive_average_pool, adaptive_max_pool, average_pool, max_pool


@dataclasses.dataclass
class MaxPool:
    """What `MaxPool1D`, `MaxPool2D` and `MaxPool3D` share: `max_pool`, which explains the settings."""

    rank: ClassVar[int]
    """The number of spatial axes."""

    size: Any = static()
    stride: Any = static(None)
    padding: Any = static(0)

    def __post_init__(self) -> None:
        self.size, self.stride, self.padding = map(setting, (self.size, self.stride, self.padding))

    def __call__(self, x: Any) -> Any:
        """Apply the layer to (examples, channels, ...)."""
        check_spatial(type(self).__name__, x, self.rank)
        return max_pool(x, self.size, self.stride, self.padding)


@dataclasses.dataclass
class AvgPool:
    """What `AvgPool1D`, `AvgPool2D` and `AvgPool3D` share: `average_pool`, which explains the settings."""

    rank: ClassVar[int]
    """The number of spatial axes."""

    size: Any = static()
    stride: Any = static(None)
    padding: Any = static(0)
    count_border: bool = static(True)

    def __post_init__(self) -> None:
        self.size, self.stride, self.padding = map(setting, (self.size, self.stride, self.padding))

    def __call__(self, x: Any) -> Any:
        """Apply the layer to (examples, channels, ...)."""
        check_spatial(type(self).__name__, x, self.rank)
        return average_pool(x, self.size, self.stride, self.padding, self.count_border)


@dataclasses.dataclass
class AdaptiveMaxPool:
    """What `AdaptiveMaxPool1D` and its siblings share: `adaptive_max_pool`, to images of the extents ``size``."""

    rank: ClassVar[int]
    size: Any = static()

    def __post_init__(self) -> None:
        self.size = setting(self.size)

    def __call__(self, x: Any) -> Any:
        """Apply the layer to (examples, channels, ...)."""
        check_spatial(type(self).__name__, x, self.rank)
        return adaptive_max_pool(x, self.size)


@dataclasses.dataclass
class AdaptiveAvgPool:
    """What `AdaptiveAvgPool1D` and its siblings share: `adaptive_average_pool`, to images of the extents ``size``."""

    rank: ClassVar[int]
    size: Any = static()

    def __post_init__(self) -> None:
        self.size = setting(self.size)

    def __call__(self, x: Any) -> Any:
        """Apply the layer to (examples, channels, ...)."""
        check_spatial(type(self).__name__, x, self.rank)
        return adaptive_average_pool(x, self.size)


class MaxPool1D(MaxPool):
    """The largest element of each window of signals: see `max_pool`.

    Example:
        >>> import numpy as np
        >>> MaxPool1D(2)(np.ones((1, 6, 11), "f4")).shape
        (1, 6, 5)
    """

    rank = 1


class MaxPool2D(MaxPool):
    """The largest element of each window of images: see `max_pool`.

    Example:
        >>> import numpy as np
        >>> MaxPool2D(2)(np.ones((1, 6, 11, 11), "f4")).shape
        (1, 6, 5, 5)
    """

    rank = 2


class MaxPool3D(MaxPool):
    """The largest element of each window of volumes: see `max_pool`.

    Example:
        >>> import numpy as np
        >>> MaxPool3D(2)(np.ones((1, 6, 11, 11, 11), "f4")).shape
        (1, 6, 5, 5, 5)
    """

    rank = 3


class AvgPool1D(AvgPool):
    """The mean of each window of signals: see `average_pool`.

    Example:
        >>> import numpy as np
        >>> AvgPool1D(2)(np.ones((1, 6, 11), "f4")).shape
        (1, 6, 5)
    """

    rank = 1


class AvgPool2D(AvgPool):
    """The mean of each window of images: see `average_pool`.

    Example:
        >>> import numpy as np
        >>> AvgPool2D(2)(np.ones((1, 6, 11, 11), "f4")).shape
        (1, 6, 5, 5)
    """

    rank = 2


class AvgPool3D(AvgPool):
    """The mean of each window of volumes: see `average_pool`.

    Example:
        >>> import numpy as np
        >>> AvgPool3D(2)(np.ones((1, 6, 11, 11, 11), "f4")).shape
        (1, 6, 5, 5, 5)
    """

    rank = 3


class AdaptiveMaxPool1D(AdaptiveMaxPool):
    """The largest elements of so many windows of signals as are asked for: see `adaptive_max_pool`.

    Example:
        >>> import numpy as np
        >>> AdaptiveMaxPool1D(4)(np.ones((1, 6, 11), "f4")).shape
        (1, 6, 4)
    """

    rank = 1


class AdaptiveMaxPool2D(AdaptiveMaxPool):
    """The largest elements of so many windows of images as are asked for: see `adaptive_max_pool`.

    Example:
        >>> import numpy as np
        >>> AdaptiveMaxPool2D(4)(np.ones((1, 6, 11, 11), "f4")).shape
        (1, 6, 4, 4)
    """

    rank = 2


class AdaptiveMaxPool3D(AdaptiveMaxPool):
    """The largest elements of so many windows of volumes as are asked for: see `adaptive_max_pool`.

    Example:
        >>> import numpy as np
        >>> AdaptiveMaxPool3D(4)(np.ones((1, 6, 11, 11, 11), "f4")).shape
        (1, 6, 4, 4, 4)
    """

    rank = 3


class AdaptiveAvgPool1D(AdaptiveAvgPool):
    """The means of so many windows of signals as are asked for: see `adaptive_average_pool`.

    Example:
        >>> import numpy as np
        >>> AdaptiveAvgPool1D(4)(np.ones((1, 6, 11), "f4")).shape
        (1, 6, 4)
    """

    rank = 1


class AdaptiveAvgPool2D(AdaptiveAvgPool):
    """The means of so many windows of images as are asked for: see `adaptive_average_pool`.

    Example:
        >>> import numpy as np
        >>> AdaptiveAvgPool2D(4)(np.ones((1, 6, 11, 11), "f4")).shape
        (1, 6, 4, 4)
    """

    rank = 2


class AdaptiveAvgPool3D(AdaptiveAvgPool):
    """The means of so many windows of volumes as are asked for: see `adaptive_average_pool`.

    Example:
        >>> import numpy as np
        >>> AdaptiveAvgPool3D(4)(np.ones((1, 6, 11, 11, 11), "f4")).shape
        (1, 6, 4, 4, 4)
    """

    rank = 3
