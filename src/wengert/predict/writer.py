"""A trained language model as a writer of texts."""

from __future__ import annotations

import codecs
import os
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from wengert.data import DataError
from wengert.data.texts import CONTEXT
from wengert.engine.core.errors import ArgumentError, message
from wengert.predict.predictor import loaded, located
from wengert.train.runs import Run


@dataclass(frozen=True)
class Writer:
    """A trained language model of bytes, which continues texts.

    A model with `Transformer.extend` reads each byte once: the keys and the values of the bytes before are kept.

    Args:
        run: the run.
        model: a function of bytes (examples, steps) that returns logits (examples, steps, 256).

    Example:
        >>> import tempfile
        >>> from wengert.train import TASKS, Outcome, RunFolder
        >>> from wengert.train.state import begin
        >>> task = TASKS["gpt"]
        >>> settings = task.settings("text")
        >>> folder = RunFolder(os.path.join(tempfile.mkdtemp(), "run"), settings)
        >>> state = begin(task, settings, 1)
        >>> folder.finish(Outcome(state.model, [], False, state))
        >>> writer = Writer.open(folder.path)
        >>> text = "".join(writer.write("Return ", characters=20, seed=1))
        >>> len(text), text == "".join(writer.write("Return ", characters=20, seed=1))
        (20, True)
    """

    run: Run
    model: Any

    @classmethod
    def open(cls, folder: str | os.PathLike[str], *, trust: bool = False) -> Writer:
        """Return the writer of a run.

        Args:
            folder: of the run; or a file of a checkpoint, for the model at that time.
            trust: as in `Run.open`.

        Returns:
            The writer.

        Raises:
            DataError: the run does not exist, is damaged, has no model yet, or has not learned a text.
            UntrustedError: the copy of a user's file is not trusted.
        """
        run, checkpoint = located(folder, trust=trust)
        if run.task.data != "text":
            raise DataError(f"{run.path}: the {run.task.title} has learned no text")
        return cls(run, loaded(run, checkpoint))

    def write(
        self, prompt: str = "", *, characters: int = 400, temperature: float = 0.8, seed: int = 0
    ) -> Iterator[str]:
        """Continue a text.

        Args:
            prompt: the text to continue; it is not returned. Without one, a new line begins.
            characters: the number of characters to write.
            temperature: the logits are divided by it: less than 1 prefers probable bytes, 0 takes the most probable.
            seed: of the random numbers; the same arguments give the same text.

        Returns:
            An iterator over parts of the text, as they are written.

        Raises:
            ArgumentError: a number is negative.
        """
        for name, number in (("characters", characters), ("temperature", temperature), ("seed", seed)):
            if number < 0:
                raise ArgumentError(message("write", f"{name} must not be negative", repr(number)))
        rng = np.random.default_rng(seed)
        decoder = codecs.getincrementaldecoder("utf-8")("replace")
        symbols = list(prompt.encode()) or [10]
        cache, read = None, 0
        while characters > 0:
            logits, cache, read = self._next(symbols, cache, read)
            logits = np.asarray(logits, np.float64)
            if temperature:
                logits = logits / temperature + rng.gumbel(size=logits.shape)
            symbols.append(int(np.argmax(logits)))
            text = decoder.decode(bytes(symbols[-1:]))[:characters]
            characters -= len(text)
            if text:
                yield text

    def _next(self, symbols: list[int], cache: Any, read: int) -> tuple[Any, Any, int]:
        """Return the logits of the next symbol, the cache, and how many symbols have been read into it."""
        if not hasattr(self.model, "extend"):
            return self.model(np.array([symbols[-CONTEXT:]]))[0, -1], None, 0
        if cache is None or int(cache[0].count) + len(symbols) - read > CONTEXT:
            # The model has learned no steps beyond its context: it forgets the older half.
            read = 0 if len(symbols) <= CONTEXT else len(symbols) - CONTEXT // 2
            cache = self.model.initial_cache((), CONTEXT)
        logits, cache = self.model.extend(np.array(symbols[read:]), cache)
        return logits[-1], cache, len(symbols)
