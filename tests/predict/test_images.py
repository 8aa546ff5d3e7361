"""Image files as a network's input."""

from __future__ import annotations

import gzip
import io
import math
import struct
import sys
import tracemalloc
import warnings
import zlib

import numpy as np
import pytest
from PIL import Image

from wengert.data import DataError, DataNotFoundError, digits, write_idx
from wengert.engine.core.errors import MissingExtraError
from wengert.predict import images, read_images
from wengert.predict.images import image_files


@pytest.fixture
def digit():
    return digits(1, seed=5)[0][0]


def saved(path, array, **options):
    Image.fromarray(array, **options).save(path)
    return path


def read(path, **options):
    actual = read_images(path, **options)
    assert actual.images.dtype == np.uint8
    return actual.images


# -- pictures --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("ending", ["png", "bmp", "pgm"])
def test_grey_pictures_are_what_they_are(ending, digit, tmp_path):
    actual = read_images(saved(tmp_path / f"digit.{ending}", digit))
    assert np.array_equal(actual.images, digit[np.newaxis])
    assert (actual.many, actual.names) == (False, [str(tmp_path / f"digit.{ending}")])


def test_a_jpeg_is_about_what_it_was(digit, tmp_path):
    path = tmp_path / "digit.jpg"
    Image.fromarray(digit).save(path, quality=95)
    assert np.max(np.abs(read(path)[0].astype(int) - digit)) < 30


def test_the_content_decides_not_the_name(digit, tmp_path):
    assert np.array_equal(read(saved(tmp_path / "x.png", digit).rename(tmp_path / "digit.txt"))[0], digit)
    write_idx(tmp_path / "idx.png", digit[np.newaxis])
    assert np.array_equal(read(tmp_path / "idx.png")[0], digit)


def test_colours_become_their_luminance(tmp_path):
    colours = np.random.default_rng(0).integers(0, 256, (28, 28, 3), np.uint8)
    grey = colours @ [0.299, 0.587, 0.114]
    assert np.max(np.abs(read(saved(tmp_path / "x.png", colours))[0] - grey)) <= 1


def test_16_bits_become_8(tmp_path):
    levels = np.linspace(0, 65535, 28 * 28).reshape(28, 28).astype(np.uint16)
    expected = np.rint(levels / 257).astype(np.uint8)
    assert np.array_equal(read(saved(tmp_path / "x.png", levels))[0], expected)


def test_1_bit_and_palettes(digit, tmp_path):
    black_and_white = Image.fromarray(digit).point(lambda level: 255 * (level > 99)).convert("1")
    black_and_white.save(tmp_path / "1.png")
    assert np.array_equal(read(tmp_path / "1.png")[0], 255 * (digit > 99).astype(np.uint8))
    Image.fromarray(digit).convert("P").save(tmp_path / "p.png")
    assert np.array_equal(read(tmp_path / "p.png")[0], digit)


def test_what_is_transparent_is_background(digit, tmp_path):
    for ink, invert in ((255, False), (0, True)):
        drawn = np.dstack([np.full_like(digit, ink), digit])  # one colour, and its opacity
        Image.fromarray(drawn, "LA").save(tmp_path / "x.png")
        assert np.max(np.abs(read(tmp_path / "x.png", invert=invert)[0].astype(int) - digit)) <= 1


def test_inverting(digit, tmp_path):
    path = saved(tmp_path / "x.png", 255 - digit)
    assert np.array_equal(read(path, invert=True)[0], digit)
    write_idx(tmp_path / "x", 255 - digit)
    assert np.array_equal(read(tmp_path / "x", invert=True)[0], digit)
    assert read_images(path).light
    assert not read_images(path, invert=True).light


def test_a_photo_lies_as_its_camera_says(digit, tmp_path):
    turned = Image.fromarray(np.rot90(digit))
    exif = Image.Exif()
    exif[0x0112] = 6  # rotate clockwise
    turned.save(tmp_path / "x.png", exif=exif)
    assert np.array_equal(read(tmp_path / "x.png")[0], digit)


# -- sizes -----------------------------------------------------------------------------------------------


def test_other_sizes_are_refused(tmp_path):
    path = saved(tmp_path / "x.png", np.zeros((30, 40), np.uint8))
    with pytest.raises(
        DataError,
        match=r"x\.png: images must be 28x28 \(height x width\); got 30x40; resize them with --resize",
    ):
        read_images(path)
    assert read(path, size=None).shape == (1, 30, 40)
    write_idx(tmp_path / "x", np.zeros((3, 32, 32), np.uint8))
    with pytest.raises(DataError, match="got 32x32"):
        read_images(tmp_path / "x")


def test_resizing_keeps_proportions(tmp_path):
    wide = np.full((10, 100), 20, np.uint8)
    wide[:, 40:60] = 200
    actual = read_images(saved(tmp_path / "x.png", wide), resize=True)
    assert actual.resized == (10, 100)
    assert set(np.unique(actual.images[0, :12])) == {20}, "above and below is what was at the edges"
    assert np.all(actual.images[0, 13:15, 12:16] > 150)


def test_an_enlarged_digit_comes_back(digit, tmp_path):
    large = np.kron(digit, np.ones((4, 4), np.uint8))
    back = read(saved(tmp_path / "x.png", large), resize=True)[0]
    assert np.mean(np.abs(back.astype(int) - digit)) < 8
    write_idx(tmp_path / "x", np.stack([large, large]))
    assert np.array_equal(read(tmp_path / "x", resize=True), np.stack([back, back]))


@pytest.mark.parametrize(("top", "left", "scale", "paper"), [(0, 0, 1, 0), (40, 300, 4, 10), (200, 3, 9, 40)])
def test_centring_undoes_place_size_and_grey(top, left, scale, paper, tmp_path):
    stroke = np.zeros((20, 12), np.uint8)
    stroke[:, 4:8], stroke[16:] = 255, 255  # an inverted T: its centre of mass is low
    canvas = np.full((600, 700), paper, np.uint8)
    large = np.kron(stroke, np.ones((scale, scale), np.uint8))
    canvas[top : top + 20 * scale, left : left + 12 * scale] = np.maximum(large, paper)
    actual = read_images(saved(tmp_path / "x.png", canvas), centre=True)
    assert actual.resized == (600, 700)
    image = actual.images[0].astype(float)
    rows, columns = np.nonzero(image > 127)
    assert (np.ptp(rows) + 1, np.ptp(columns) + 1) == (20, 12)
    assert np.mean(np.abs(image[rows.min() : rows.min() + 20, 8:20] - stroke)) < 25
    for axis in (0, 1):
        sums = image.sum(axis=1 - axis)
        assert abs(np.sum(sums * (np.arange(28) + 0.5)) / sums.sum() - 14) <= 0.51


def test_centring_nothing_and_lines(tmp_path):
    for height, width in ((1, 1), (50, 1), (1, 50), (28, 28)):
        blank = np.full((height, width), 9, np.uint8)
        assert not read(saved(tmp_path / "x.png", blank), centre=True).any()
    line = np.zeros((100, 100), np.uint8)
    line[50, 10:90] = 255
    assert read(saved(tmp_path / "x.png", line), centre=True)[0].max() > 0
    noted = read_images(saved(tmp_path / "x.png", 255 - line), centre=True)
    assert noted.light


# -- IDX -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["images", "images.gz"])
def test_idx(name, tmp_path):
    images, _ = digits(7)
    write_idx(tmp_path / name, images)
    actual = read_images(tmp_path / name)
    assert np.array_equal(actual.images, images)
    assert actual.names[6] == f"{tmp_path / name}[6]"
    write_idx(tmp_path / "one", images[2])
    assert (read_images(tmp_path / "one").many, read(tmp_path / "one").shape) == (False, (1, 28, 28))


# -- files that cannot be read ---------------------------------------------------------------------------


def png(digit):
    content = io.BytesIO()
    Image.fromarray(digit).save(content, "PNG")
    return content.getvalue()


def huge():
    """Return a small PNG whose header declares 10 billion pixels."""
    header = struct.pack(">IIBBBBB", 100_000, 100_000, 8, 0, 0, 0, 0)
    chunks = [(b"IHDR", header), (b"IDAT", zlib.compress(b"\0")), (b"IEND", b"")]
    parts = [struct.pack(">I", len(body)) + kind + body for kind, body in chunks]
    checked = [part + struct.pack(">I", zlib.crc32(part[4:])) for part in parts]
    return b"\x89PNG\r\n\x1a\n" + b"".join(checked)


def test_every_damaged_byte_of_a_png_is_seen_or_harmless(digit, tmp_path):
    content, path = png(digit), tmp_path / "x.png"
    for place in range(0, len(content), 3):
        path.write_bytes(content[:place] + bytes([content[place] ^ 0x10]) + content[place + 1 :])
        try:
            actual = read_images(path)
        except DataError as problem:
            assert str(problem).startswith(f"{path}: ")  # noqa: PT017
        else:
            assert np.array_equal(actual.images[0], digit)


def test_every_cut_off_png_is_seen_or_harmless(digit, tmp_path):
    content, path = png(digit), tmp_path / "x.png"
    for length in range(len(content) % 3, len(content), 3):
        path.write_bytes(content[:length])
        try:
            actual = read_images(path)
        except DataError:
            continue
        assert np.array_equal(actual.images[0], digit)
        assert length > len(content) - 16, "nothing but the end was missing"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "the file is empty"),
        (b"hello", "not PNG, JPEG, BMP, PGM, PPM or IDX"),
        (b"\x89PNG\r\n\x1a\n", "damaged"),
        (b"\xff\xd8\xff\xe0" + b"x" * 50, "damaged"),
        (b"BM" + b"\xff" * 50, "damaged"),
        (b"P5 28 28 255 ", "damaged"),
        (huge(), "may have 33,554,432 pixels; got 10,000,000,000"),
        (b"\0\0\x08\x01\0\0\0\x02\x01\x02", r"expected images, uint8\[n, height, width\]; got uint8\[2\]"),
        (b"\0\0\x08\x03" + b"\0\0\0\0" + b"\0\0\0\x1c" * 2, "holds no images"),
        (b"\0\0\x08\x03\0\0\0\x02", "at byte 4"),
        (gzip.compress(b"\0\0\x08\x03", mtime=0)[:-4], "gzip"),
    ],
)
def test_what_is_wrong_with_a_file(content, message, tmp_path):
    (tmp_path / "x").write_bytes(content)
    with pytest.raises(DataError, match=message) as caught:
        read_images(tmp_path / "x")
    assert str(tmp_path / "x") in str(caught.value)


def test_floats_are_no_images(tmp_path):
    write_idx(tmp_path / "x", np.zeros((2, 28, 28), np.float32))
    with pytest.raises(DataError, match=r"got float32\[2, 28, 28\]"):
        read_images(tmp_path / "x")


def test_missing_files(tmp_path):
    with pytest.raises(DataNotFoundError, match="there is no such file"):
        read_images(tmp_path / "x.png")
    with pytest.raises(DataError, match="cannot be read: Is a directory"):
        read_images(tmp_path)


def test_without_pillow(digit, tmp_path, monkeypatch):
    path = saved(tmp_path / "x.png", digit)
    write_idx(tmp_path / "x", digit)
    monkeypatch.setitem(sys.modules, "PIL", None)
    with pytest.raises(MissingExtraError, match=r"wengert\[images\]"):
        read_images(path)
    assert np.array_equal(read(tmp_path / "x")[0], digit)


def test_no_warning_filter_is_left_behind(digit, tmp_path):
    before = list(warnings.filters)
    read_images(saved(tmp_path / "x.png", digit))
    assert warnings.filters == before


# -- folders ---------------------------------------------------------------------------------------------


def test_folders(digit, tmp_path):
    images = tmp_path / "images"
    images.mkdir()
    with pytest.raises(DataError, match="holds no images"):
        image_files(images)
    for name in (
        "b.PNG",
        "a.jpeg",
        "t10k-images-idx3-ubyte.gz",
        "t10k-labels-idx1-ubyte",
        ".hidden.png",
        "notes.txt",
    ):
        (images / name).write_bytes(b"")
    (images / "folder.png").mkdir()
    names = [path.removeprefix(f"{images}/") for path in image_files(images)]
    assert names == ["a.jpeg", "b.PNG", "t10k-images-idx3-ubyte.gz"]
    assert image_files(images / "notes.txt") == [str(images / "notes.txt")]
    with pytest.raises(DataNotFoundError, match="no such file or folder"):
        image_files(tmp_path / "nowhere")


@pytest.mark.parametrize(
    ("height", "width"), [(9_000, 9_000), (4_097, 8_192), (20_000, 20_000), (1 << 20, 1 << 10)]
)
def test_a_picture_with_too_many_pixels_is_not_unpacked(height, width, tmp_path):
    """A file of a few kilobytes can hold gigabytes of pixels."""
    write_flat_png(tmp_path / "large.png", height, width, whole=height * width < 4 * 10**7)
    tracemalloc.start()
    with pytest.raises(
        DataError, match=rf"may have 33,554,432 pixels; got {height * width:,}\b.*make it smaller"
    ):
        read_images(tmp_path / "large.png", centre=True)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 10_000_000


def write_flat_png(path, height, width, whole):
    """Write a picture of zeros, or only its beginning."""

    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    packer, packed = zlib.compressobj(9), b""
    for _ in range(height if whole else 10):
        packed += packer.compress(bytes(width + 1))
    packed += packer.flush()
    header = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    path.write_bytes(
        b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", packed) + chunk(b"IEND", b"")
    )


@pytest.mark.parametrize("mode", ["L", "RGB", "RGBA", "LA", "P", "I;16", "1"])
def test_a_large_picture_takes_few_bytes_a_pixel(mode, tmp_path, monkeypatch):
    """This counts arrays; Pillow uses up to 4 more bytes per pixel of the file."""
    monkeypatch.setattr(images, "_STRIP", images._STRIP // 16)
    size = 750
    picture = Image.new(mode, (size, size))
    picture.paste(200, (250, 250, 500, 500)) if mode in ("L", "I;16") else None
    picture.save(tmp_path / "large.png")
    tracemalloc.start()
    read_images(tmp_path / "large.png", centre=True, invert=True)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 4 * size**2 + 2_500_000


def test_strips_of_a_picture_join(tmp_path, monkeypatch, rng):
    for mode, bands in (("L", 1), ("RGB", 3), ("RGBA", 4), ("LA", 2)):
        levels = rng.integers(0, 256, (37, 23, bands), np.uint8)
        Image.fromarray(levels.squeeze(), mode).save(tmp_path / "some.png")
        whole = [read_images(tmp_path / "some.png", None, invert=invert).images for invert in (False, True)]
        with monkeypatch.context() as patch:
            patch.setattr(images, "_STRIP", 50)
            parts = [
                read_images(tmp_path / "some.png", None, invert=invert).images for invert in (False, True)
            ]
        np.testing.assert_array_equal(parts, whole)


def test_of_many_frames_the_first_is_read(tmp_path, digit):
    frames = [Image.fromarray(digit), *(Image.new("L", digit.shape[::-1], level) for level in range(20))]
    frames[0].save(tmp_path / "moving.png", save_all=True, append_images=frames[1:])
    np.testing.assert_array_equal(read_images(tmp_path / "moving.png").images[0], digit)


@pytest.mark.parametrize("shape", [(1 << 16, 1 << 13), (10**6, 280, 280), (2**32 - 1,) * 3])
@pytest.mark.parametrize("packed", [False, True])
def test_an_idx_file_with_too_many_pixels_is_not_unpacked(shape, packed, tmp_path):
    content = bytes((0, 0, 8, len(shape))) + struct.pack(f">{len(shape)}I", *shape) + bytes(5_000_000)
    (tmp_path / "large").write_bytes(gzip.compress(content) if packed else content)
    message = rf"expected an array of at most 268,435,456 bytes; got {math.prod(shape):,} bytes of uint8"
    with pytest.raises(DataError, match=message):
        read_images(tmp_path / "large")


def test_many_small_images_are_not_made_large(tmp_path):
    write_idx(tmp_path / "many", np.zeros((400_000, 1, 1), np.uint8))
    with pytest.raises(DataError, match=r"may have 268,435,456 pixels; 400,000 images have 313,600,000"):
        read_images(tmp_path / "many", centre=True)
