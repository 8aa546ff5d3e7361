"""The cost model: the cost of operations, and every threshold by which the compiler decides."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from wengert.engine.core.records import record
from wengert.engine.nest.expression import Apply, Expression, Guard, Load, Reduce, walk
from wengert.engine.nest.index import Computed
from wengert.engine.nest.nest import Call, Loop, Nest, Sort, Step, While, inner_blocks

DIVISION = 4
"""The cost of a division or a square root: a division of a vector takes about four times as long as a sum."""
FUNCTION = 12
"""The cost of an elementary function: a polynomial of about twelve terms."""
#: The cost of each scalar operation; `compiler.scalars` and `compiler.mathlib` register it beside the code.
OPERATION_COSTS = {
    "position": 1,
    "bounded": 1,
    "required": 1,
    "ended": 1,
    "fitting": 1,
    "smooth": 1,
    "raised": 1,
}


def weight(operation: str) -> int:
    """Return the cost of an operation itself."""
    return OPERATION_COSTS.get(operation, FUNCTION)


def arithmetic(expression: Expression) -> int:
    """Return the cost of the operations of an expression at one point, without its loads."""
    return sum(weight(node.operation) for node in walk(expression) if isinstance(node, Apply))


def cost(expression: Expression) -> int:
    """Return how many simple operations an expression takes at one point, beyond the first load."""
    total, count = arithmetic(expression), 0
    for node in walk(expression):
        if isinstance(node, Load):
            count += 1
            total += 2 * any(isinstance(term, Computed) for index in node.indices for term, _ in index.terms)
        elif isinstance(node, Guard):
            total += 1
    return total + max(count - 1, 0)


@record(eq=True, slots=False)
class CostModel:
    """Every threshold by which the compiler decides, grouped by the room that reads it.

    ``work`` counts scalar operations, weighted as `weight` does; ``share`` is a fraction of something larger. The
    values were measured on x86-64 servers with AVX-512. Tests replace `COSTS` as a whole to send small programs through
    the passes for large ones.
    """

    # -- graph passes ------------------------------------------------------------------------------------
    folded_elements: int = 1024
    """Elements: a folded constant may have this many, or as many as its largest operand."""
    expanded_operations: int = 256
    """Equations: the longest program that replaces a call of NumPy. Compiling it takes half a second."""
    expanded_operations_together: int = 1024
    """Equations of all these programs in one graph: a second or two, derivatives included."""
    native_matrix_rows: int = 64
    """The most rows of a matrix whose factors and equations are native; LAPACK takes those of larger ones."""
    rotated_matrix_rows: int = 8
    """The most rows of a symmetric matrix whose eigenvalues are computed by Jacobi's rotations."""
    native_block_rows: int = 32
    """The most rows of a triangular block that is factorised or solved in one loop; larger matrices are divided."""
    serial_blas_work: int = 15_000_000
    """Operations of a factorisation: fewer run on the calling thread. From here on the threads of BLAS save a tenth of
    the time; below, they save nothing, and double it where other threads use the processors."""
    native_panel_columns: int = 32
    """The most columns of a panel of LU factors, or of Householder reflections, that is made in one loop."""
    native_blocks: int = 4
    """The most such blocks of a large matrix in a program that leaves Python: their number determines its size."""
    native_programs: int = 24
    """The most operations of a graph that are native in this way: compiling one takes some 50 ms."""
    native_lanes: int = 8
    """How many small matrices of a stack are factorised together, one in each lane."""
    native_lane_rows: int = 24
    """The most rows of these matrices; larger ones fill the lanes one at a time."""
    windowed_diagonals: int = 8
    """The most diagonals beside the main one of a banded matrix whose equations are solved in registers."""
    shared_factor_rows: int = 64
    """The least number of rows of a matrix whose factors several operations of LAPACK share."""
    factored_inverse_rows: int = 192
    """The least number of rows of a matrix whose inverse is made from its factors, by one call more."""

    rerolled_equations: int = 150
    """The least number of equations that a rerolled loop saves: about a tenth of a second of compilation."""
    rerolled_turns: int = 4
    """The least number of its turns."""
    rerolled_delay: int = 4
    """From how many turns back a rerolled loop may read a value; each of these turns is one more carry."""
    rerolled_copied_bytes: int = 1 << 14
    """The most bytes of separate values that are copied into one array, of which each turn reads a row."""

    distributed_bytes_share: float = 1 / 4
    """Bytes of stacks up to which a sum of products leaves a loop, for each byte of the sum that a turn moves."""

    distributed_bytes: int = 1 << 26
    """Bytes of such stacks that any loop may make; one that keeps more of its turns anyway may make as many."""

    native_transform_points: int = 1 << 20
    """Points: longer Fourier transforms are left to NumPy; their tables would be large constants."""
    host_transform_work: float = 7.0
    """The time of an operation of NumPy's transforms in native operations of double precision; twice that in single."""
    host_call_work: int = 500_000
    """The time of a call of NumPy in operations of native transforms: some thirty microseconds."""
    transform_columns: int = 32
    """Columns that are transformed together, at most: some cache lines of each row."""
    transform_block_bytes: int = 1 << 19
    """Bytes of a block of columns, about: half of the second-level cache."""

    network_bytes: int = 1 << 12
    """Bytes of a line up to which a network sorts it; a longer one is sorted digit by digit."""
    network_positions: int = 256
    """Elements of a line up to which it does so where positions are wanted."""
    network_columns: int = 2
    """How many times as long the lines may be that it sorts side by side: nothing else reads whole vectors of them."""
    short_line_elements: int = 16
    """Elements of lines up to which a network sorts several side by side, whatever their order in memory."""
    network_vectors: int = 8
    """Vectors that a sorting network compares in registers, at most; half as many pairs of vectors."""
    network_words: int = 64
    """Words of one line that it compares there, at most."""
    long_digit_words: int = 1 << 15
    """Words from which digits have more than eight bits: fewer passes through memory, and more counts."""
    long_digit_bits: int = 11
    """The bits of these digits."""

    # -- nest passes -------------------------------------------------------------------------------------
    memory_pass_work: int = 6
    """Work that equals writing an element and reading it again; a producer that costs less is recomputed."""
    far_memory_pass_work: int = 10
    """The same for an array that leaves the caches near a processor before it is read."""
    far_array_bytes: int = 1 << 22
    """Bytes from which an array does."""
    fused_depth: int = 64
    """Nested operations: a deeper value is stored, because passes descend expressions recursively."""
    fused_writes: int = 8
    """Small writes into an array, one after the other: a longer chain is written in place, a shorter one in a pass."""
    while_turns: int = 16
    """Turns that a loop is expected to take which ends when it is done: values before it are not computed in each."""
    resident_loop_turns: int = 64
    """Turns from which a loop carries values in their best layout and copies them there and back."""
    misaligned_row_lines: int = 4
    """Cache lines: shorter rows of a loop's array may start anywhere in a line."""
    batch_classes: int = 4
    """Dimension classes, those with the most work, that are tried as the batch."""
    blocked_nests: int = 4
    """Nests in a row from which they are blocked over the batch."""
    blocked_loop_work: int = 1_000_000
    """Work from which a run of steps with loops is worth several threads."""
    blocked_loop_share: float = 0.7
    """Share of that work that must be independent for each example."""
    blocked_sum_terms: int = 16
    """Terms beside the batch from which a sum over the batch is collected block by block."""
    block_vectors: int = 4
    """Vectors of examples in a block of nests, at most."""
    nest_block_cache_share: float = 1 / 2
    """Share of the second-level cache for a block of nests; their inputs need room, too."""
    block_reads_share: float = 1.0
    """Bytes that blocks of nests may read anew for each byte of intermediate arrays that they need not move."""
    loop_block_cache_share: float = 3 / 4
    """Share of the second-level cache for a block of loops."""
    matrix_block_examples: int = 8
    """Examples of a block of loops whose turns read matrices, at least: each turn reads them once for the block."""
    balanced_blocks: int = 4
    """Blocks of loops from which a late thread does not hold up the others for long."""
    lane_extent: int = 8
    """Elements: shorter dimensions leave most of a vector register empty."""
    gather_work: int = 16
    """Work that equals reading an element of a row-major array across its rows."""
    scatter_work: int = 64
    """Work that equals writing an element of a row-major array across its rows."""
    transposed_work: int = 4
    """Work that equals reading or writing an element of a row-major array in blocks that are transposed."""
    row_extent: int = 32
    """Elements of a row from which a reduction runs along it."""
    innermost_bonus_divisor: int = 50
    """A dimension class gains its work divided by this where a row-major array has it innermost."""
    streamed_map_elements: int = 1 << 16
    """Points from which a map's pass through memory counts, so that a sum takes it up."""
    map_reduce_rows: int = 16
    """Sums from which threads share whole sums; fewer sums are split instead."""
    map_reduce_terms: int = 32
    """Terms of each of these sums from which vectors run along them."""
    streamed_arrays: int = 8
    """Arrays that one loop streams, at most: about as many as the hardware prefetcher follows."""
    split_extent: int = 64
    """Elements from which the index set of a dimension is split."""
    split_edges: int = 4
    """Edges that are split off a dimension, at most."""
    split_piece_extent: int = 16
    """Elements from which a part of an index set is a piece, not an edge."""
    split_pieces: int = 16
    """Pieces into which the index set of a nest is split, at most."""
    split_interior_share: float = 0.9
    """Share of a dimension that remains, at least, where only edges are split off."""
    bordered_sum_work: int = 200_000
    """The least work of a sum whose conditions padding replaces."""
    bordered_copy_work: int = 8
    """The least work of such a sum for each element of the copy."""
    bordered_terms_share: float = 0.8
    """The least share of terms within the border for which padding costs less than bounds of loops."""
    phase_extent: int = 4
    """The largest extent of a dimension by which a nest is split, where conditions in its sums depend on it alone."""
    split_reduction_results: int = 16
    """Results from which a reduction is parallel enough without being split."""
    split_reduction_work: int = 500_000
    """Work from which a reduction to few results is split."""
    reduction_parts: tuple[int, ...] = (
        16, 8, 32, 12, 10, 20, 24, 14, 18, 9, 25, 15, 28, 30, 21, 27, 6, 7, 5, 4, 3, 2,
    )  # fmt: skip
    """Numbers of parts in order of preference; the first that divides the dimension is taken."""
    swept_column: int = 32
    """The least number of terms of a sum down a column that takes several rows at a time (for the TLB)."""
    swept_row_bytes: int = 2048
    """The least number of bytes of these rows."""
    swept_rows: int = 8
    """How many rows it takes at a time."""
    swept_parts: int = 16
    """The most parts of these rows that have totals of their own, for the threads."""
    long_sum_terms: int = 1 << 16
    """Terms from which the rounding errors of a floating-point sum count."""
    long_sum_results: int = 1024
    """Results from which the partial sums of each would take too much memory."""
    partial_sum_terms: int = 1 << 12
    """Terms of a partial sum, about."""
    partial_sum_rows: int = 4
    """Multiple of that number that a partial sum of whole rows may have."""

    # -- schedule ----------------------------------------------------------------------------------------
    parallel_nest_work: int = 50_000
    """Work up to which one thread finishes a nest sooner than several."""
    padded_row_vectors: int = 3
    """Vectors from which rows are padded to whole vectors: at most a third more memory."""
    packed_product_work: int = 200_000
    """Work from which packing an operand of a product is considered."""
    packed_sums: int = 4
    """Sums in a nest up to which packing is considered."""
    packed_extent: int = 8
    """Elements of a dimension from which an operand is packed along it."""
    packed_element_cost: float = 1.0
    """Instructions for each element of a copy that changes the order."""
    packing_gain: float = 0.85
    """Share of its cost that a product may keep, copy included, for the copy to be made."""
    packed_side: int = 32
    """The least number of rows and of columns of a product whose factors are packed: how often each element is used."""
    panel_vectors: int = 4
    """The most vectors of a panel along the lanes."""
    panel_points: tuple[int, ...] = (4, 8, 2, 6, 12)
    """The possible widths of a panel across the lanes."""
    panel_steps: int = 4
    """How many steps of a sum over panels are unrolled."""
    panels_cache_share: float = 3 / 4
    """Share of the first-level cache for the panels that a tile reads."""
    block_cache_share: float = 1 / 2
    """Share of the second-level cache for a block of panels."""
    uncut_terms_share: float = 1.5
    """How far the terms of a sum may exceed that share before the sum is cut into blocks."""
    panel_readers: int = 8
    """Tiles that read a panel from which it is copied into one piece."""
    panel_cache_share: float = 1 / 2
    """Share of the first-level cache from which a panel is copied."""
    aliasing_bytes: int = 4096
    """Distance of rows that fall into the same set of the first-level cache: its size divided by its ways."""
    update_rows: int = 16
    """Rows from which threads share a sum that carries out an update."""
    row_sum_terms: int = 16
    """Terms of a part of a sum over rows, at least."""
    row_sum_parts: int = 8
    """Parts of a sum over rows, at most."""
    shared_tiles: int = 6
    """Tiles of the two outermost dimensions from which threads share them evenly."""
    streamed_results_share: float = 1 / 2
    """Share of the second-level cache from which results stream through the caches."""
    unrolled_terms: int = 9
    """Terms of an inner reduction that are unrolled, at most: filter taps, pooling windows."""
    strided_access_cost: float = 1.2
    """Instructions for each lane of a load or store that is not contiguous."""
    broadcast_load_cost: float = 0.7
    """Instructions of a load of one element for all lanes."""
    transposed_load_cost: float = 5.0
    """Instructions of a strided load that is read in square blocks and transposed."""
    tiled_load_share: float = 0.6
    """Share of a reduction's loads that remain once a register tile reuses them."""
    horizontal_step_cost: float = 3.0
    """Instructions of each halving of a vector that is reduced to one number."""

    # -- register tile -----------------------------------------------------------------------------------
    latency_operations: int = 8
    """Independent operations that keep two units with a latency of four cycles busy."""
    addition_latency_work: int = 12
    """Work that a processor finishes during one addition."""
    operand_registers: int = 4
    """Registers that accumulators leave to operands."""
    spill_registers: int = 3
    """Operand registers beyond these that a tile may take before it spills."""
    tile_points: tuple[int, ...] = (1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 14, 16)
    """Points of a dimension that a tile may have."""
    whole_tile_extent: int = 28
    """Points up to which a tile may also have the whole dimension."""
    tile_operations: int = 288
    """Operations in the unrolled body of a tile, at most."""
    tile_remainder_cost: float = 0.3
    """Cost of a missing point in the last tile, in points."""
    line_bytes: int = 64
    """Bytes of a cache line."""
    near_load_cycles: float = 0.5
    """Cycles of a load from the first-level cache."""
    far_load_cycles: float = 1.2
    """Cycles of a load from the other levels."""
    near_cache_share: float = 5 / 8
    """Share of the first-level cache that an operand may take to count as near."""
    near_vectors: int = 8
    """Vectors along the lanes that one sweep of a reduction reads."""
    exposed_load_share: float = 0.05
    """Share of the load cycles that computation does not hide."""
    streamed_row_bytes: int = 4096
    """Bytes of a row from which the hardware prefetcher works best on one row at a time."""
    lane_sum_parts: int = 4
    """Partial sums of a sum along the lanes, at most."""
    interleaved_vectors: tuple[int, ...] = (4, 2)
    """Numbers of vectors whose elementary functions are interleaved, in order of preference."""
    remainder_vectors_share: float = 1 / 4
    """Share of the vectors that may remain for one at a time where others are interleaved."""
    delayed_store_steps: int = 2
    """Steps of a reduction for each vector whose store it hides, at least."""
    delayed_store_tiles: int = 4
    """Whole tiles from which stores are delayed; nothing hides those of the last tile."""

    # -- prefetch ----------------------------------------------------------------------------------------
    prefetch_cache_level: int = 2
    """Cache level into which indirect runs are prefetched: it waits for more lines at once than the first."""
    prefetch_distance_bytes: int = 4096
    """Bytes to prefetch ahead: the data read while the first line arrives."""
    prefetch_distance_turns: int = 16
    """Turns of a loop to prefetch ahead, at most."""
    streamed_array_bytes: int = 1 << 24
    """Bytes from which most of an array comes from memory."""
    streamed_element_work: int = 6
    """Work on each element of such an array from which it is prefetched."""
    prefetched_rows: int = 4
    """The least number of rows of a sum whose rows are prefetched, as a multiple of the distance."""
    prefetched_row_bytes: int = 1024
    """The least distance in bytes between rows that are prefetched."""
    stream_distance_bytes: int = 2048
    """Bytes to prefetch ahead in such an array."""

    # -- code generation ---------------------------------------------------------------------------------
    parallel_program_work: int = 1_000_000
    """Work up to which a program ends before other threads arrive: some tens of microseconds."""
    parallel_turn_share: float = 0.9
    """Share of a turn's work in large nests from which all threads share each turn."""
    grain_work: int = 32_000
    """Work of a grain, at least: ten times as long as claiming it takes."""
    even_tiles: int = 32
    """Tiles from which an uneven split among threads does not matter."""
    inlined_nest_work: int = 64
    """Work of the longest nest whose code is copied into the loop that calls it."""
    inlined_characters: int = 400_000
    """Characters of LLVM IR of the nests whose code is copied into loops, at most."""
    loop_scalars: int = 64
    """The most scalars of loops that lie on the stack, where LLVM finds registers for them."""
    turns_between_checks: int = 64
    """Turns of a loop around one that ends by a condition, after which it checks for Ctrl-C."""
    unchecked_work: int = 1 << 22
    """Work up to which a loop leaves the checks for Ctrl-C to the loop around: some milliseconds."""
    work_between_checks: int = 1 << 26
    """Work of the turns of a loop around such ones after which it checks, at most: less than a tenth of a second."""
    module_part_characters: int = 70_000
    """Characters of LLVM IR in a part that is compiled while the next is written: about 45 milliseconds."""


#: The model that every pass reads, as ``costs.COSTS``.
COSTS: CostModel = object.__new__(CostModel)  # its fields are the class's defaults: nothing to set


def operation_count(nest: Nest) -> int:
    """Return about how many operations a nest carries out; a value that several stores share counts once."""
    total = 0
    seen: set[int] = set()
    for store in nest.stores:
        nodes = list(walk(store.value, seen=seen))
        for node in nodes:
            if isinstance(node, Reduce):
                inner = math.prod(dim.extent for dim in node.dims)
                total += inner * max(1, sum(isinstance(inside, Apply) for inside in walk(node.body)))
        operations = sum(isinstance(node, (Apply, Load)) for node in nodes)
        total += operations * math.prod(dim.extent for dim in store.along)
    return total * math.prod(dim.extent for dim in nest.dims)


def total_work(steps: Sequence[Step], turns_of: Callable[[While], float] = lambda _: 1) -> float:
    """Return about how many operations steps carry out; for a ``while`` loop, those of one turn by default."""
    total: float = 0
    for step in steps:
        match step:
            case Nest():
                total += operation_count(step)
            case Sort(operand=operand, axis=axis):
                total += operand.size * operand.shape[axis].bit_length() ** 2
            case Call(calls=calls):
                total += calls.matrices * calls.call.work
            case _:
                turns = step.counter.extent if isinstance(step, Loop) else 1
                turns = turns_of(step) if isinstance(step, While) else turns
                total += turns * max(sum(total_work(block, turns_of) for block in inner_blocks(step)), 1)
    return total


def is_large(nest: Nest) -> bool:
    """Return whether several threads finish a nest sooner than one."""
    return operation_count(nest) > COSTS.parallel_nest_work


def leaves_loop(stacked: int, total: int) -> bool:
    """Return whether a sum leaves the loop whose turns add to it.

    Args:
        stacked: the bytes that a turn writes to stacks of what is added up, and that the sum reads again.
        total: the bytes of the sum, which a turn reads and writes otherwise.
    """
    return stacked <= COSTS.distributed_bytes_share * 2 * total


def stacks_fit(new: int, retained: int) -> bool:
    """Return whether a loop may make new stacks, beside the bytes that it keeps for all of its turns anyway."""
    return new <= max(COSTS.distributed_bytes, retained)
