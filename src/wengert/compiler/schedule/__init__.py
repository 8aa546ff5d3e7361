"""The schedule of nests: layout, tiles, loop order, packing, prefetching, memory."""
