"""Neural networks: layers, activations, losses and initialisers.

A layer is a dataclass whose fields are arrays, and a model is a container of layers: every transform takes it as an
argument, and its gradient is a model of derivatives. Images are (examples, channels, height, width).

Example:
    >>> import numpy as np
    >>> import wengert as wg
    >>> rng = np.random.default_rng(0)
    >>> model = Chain(Dense(4, 8, seed=rng), relu, Dense(8, 3, seed=rng))
    >>> x, labels = rng.standard_normal((5, 4), dtype="f4"), np.array([0, 1, 2, 1, 0])
    >>> loss, gradient = wg.value_and_grad(lambda m: softmax_cross_entropy(m(x), labels))(model)
    >>> gradient.layers[0].weight.shape
    (4, 8)
"""

from typing import TYPE_CHECKING, Any

from wengert.engine.core.other_libraries import absent
from wengert.nn.activations import elu, gelu, leaky_relu, relu, sigmoid, silu, softplus, tanh
from wengert.nn.attention import KeyValueCache, MultiHeadAttention, attention, rotary
from wengert.nn.convolution import (
    Conv1D,
    Conv2D,
    Conv3D,
    ConvTranspose1D,
    ConvTranspose2D,
    ConvTranspose3D,
    convolve,
    convolve_transposed,
)
from wengert.nn.cross_entropies import (
    accuracy,
    focal_loss,
    kl_divergence,
    sigmoid_cross_entropy,
    softmax_cross_entropy,
)
from wengert.nn.ctc import ctc_loss
from wengert.nn.initialisers import (
    glorot_normal,
    glorot_uniform,
    he_normal,
    he_uniform,
    normal,
    orthogonal,
    rescaled,
    zeros,
)
from wengert.nn.layers import (
    Chain,
    Dense,
    Dropout,
    Embedding,
    Flatten,
    Lambda,
    Stateful,
    apply,
    dropout,
    initial_state,
)
from wengert.nn.losses import huber_loss, mean_squared_error, sum_squared_error
from wengert.nn.normalisation import BatchNorm, BatchNormState, GroupNorm, LayerNorm, RMSNorm
from wengert.nn.pooling import (
    AdaptiveAvgPool1D,
    AdaptiveAvgPool2D,
    AdaptiveAvgPool3D,
    AdaptiveMaxPool1D,
    AdaptiveMaxPool2D,
    AdaptiveMaxPool3D,
    AvgPool1D,
    AvgPool2D,
    AvgPool3D,
    MaxPool1D,
    MaxPool2D,
    MaxPool3D,
    adaptive_average_pool,
    adaptive_max_pool,
    average_pool,
    max_pool,
)
from wengert.nn.recurrent import GRU, LSTM, RNN, GRUCell, LSTMCell, RNNCell
from wengert.nn.summaries import LayerSummary, Summary, summary
from wengert.nn.transformer import Transformer, TransformerBlock
from wengert.nn.upsampling import Upsample1D, Upsample2D, Upsample3D, upsample
from wengert.special import log_softmax, softmax

__all__ = [
    "GRU", "LSTM", "RNN", "AdaptiveAvgPool1D", "AdaptiveAvgPool2D", "AdaptiveAvgPool3D",
    "AdaptiveMaxPool1D", "AdaptiveMaxPool2D", "AdaptiveMaxPool3D", "AvgPool1D", "AvgPool2D", "AvgPool3D",
    "BatchNorm", "BatchNormState", "Chain", "Conv1D", "Conv2D", "Conv3D", "ConvTranspose1D",
    "ConvTranspose2D", "ConvTranspose3D", "Dense", "Dropout", "Embedding", "Flatten", "GRUCell",
    "GroupNorm", "KeyValueCache", "LSTMCell", "Lambda", "LayerNorm", "LayerSummary", "MaxPool1D",
    "MaxPool2D", "MaxPool3D", "MultiHeadAttention", "RMSNorm", "RNNCell", "Stateful", "Summary",
    "Transformer", "TransformerBlock", "Upsample1D", "Upsample2D", "Upsample3D", "accuracy",
    "adaptive_average_pool", "adaptive_max_pool", "apply", "attention", "average_pool", "convolve",
    "convolve_transposed", "ctc_loss", "dropout", "elu", "focal_loss", "gelu", "glorot_normal",
    "glorot_uniform", "he_normal", "he_uniform", "huber_loss", "initial_state", "kl_divergence",
    "leaky_relu", "log_softmax", "max_pool", "mean_squared_error", "normal", "orthogonal", "relu",
    "rescaled", "rotary", "sigmoid", "sigmoid_cross_entropy", "silu", "softmax", "softmax_cross_entropy",
    "softplus", "sum_squared_error", "summary", "tanh", "upsample", "zeros",
]  # fmt: skip
__dir__ = __all__.copy


if not TYPE_CHECKING:  # type checkers report such names themselves

    def __getattr__(name: str) -> Any:
        raise absent(__name__, name)
