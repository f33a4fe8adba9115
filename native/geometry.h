// How a tensor is walked: which walk, how large a tile, whether a sample is brought into an own buffer first.
//
//   rows:   (plane, channels) with channels innermost; a tile is whole rows, or one row's block of channels.
//   planes: (channels, plane) with the plane innermost; a tile is a few planes or a part of one. Small values are one
//           number per plane.
//
// A sample is staged (copied, widened to fp32, transposed to rows) when its tiles would not be whole vectors, when it
// is half precision, or when its planes are too small to be walked one by one.
#pragma once
#include "instructions.h"

namespace evonorm {
namespace EVONORM_ISA {

constexpr int64_t kTileFloats = 512;
constexpr int64_t kSmallestPlane = 64;  // smaller planes are transposed
constexpr int64_t kRowsPerSum = 256;    // fp32 sums are handed over to double after this many rows
constexpr int64_t kPitchFloats = 16;    // slot rows are padded to this, whatever the instruction set

EVONORM_INLINE int64_t round_up(int64_t n, int64_t to) { return (n + to - 1) / to * to; }
EVONORM_INLINE int64_t smaller(int64_t a, int64_t b) { return a < b ? a : b; }
EVONORM_INLINE int64_t larger(int64_t a, int64_t b) { return a > b ? a : b; }
// The smallest m with m * n divisible by `power`, a power of two.
EVONORM_INLINE int64_t repeats_until_divisible(int64_t n, int64_t power) {
  int64_t m = 1;
  while (m * n % power) m *= 2;
  return m;
}

struct Geometry {
  int64_t batch, channels, plane, groups;
  int64_t pitch;  // floats of one slot row
  bool by_plane, staged;
  int64_t row_channels;                  // rows: channels of one row, padding included
  int64_t tile_rows, tile_channels;      // rows: the tile
  int64_t width;                         // rows: accumulator floats, whole rows of a tile
  int64_t tile_planes, tile_length;      // planes: the tile

  int64_t sample_floats() const { return by_plane ? channels * plane : plane * row_channels; }
  int64_t tile_floats() const { return by_plane ? tile_planes * tile_length : tile_rows * tile_channels; }
  int64_t accumulator_floats() const { return by_plane ? tile_planes * kLanes : width; }
};

// Channels that threads may share come in such units: sums of a channel then do not depend on who else is there.
EVONORM_INLINE int64_t shared_channels(const Geometry& g) { return g.by_plane ? 1 : 4 * kLanes; }

EVONORM_INLINE void tile_by_plane(Geometry& g) {
  g.by_plane = true;
  if (g.plane <= kTileFloats) {
    g.tile_length = g.plane;
    g.tile_planes = smaller(larger(kTileFloats / g.plane, 1), g.channels);
  } else {
    const int64_t tiles = (g.plane + kTileFloats - 1) / kTileFloats;
    g.tile_length = round_up((g.plane + tiles - 1) / tiles, kLanes);
    g.tile_planes = 1;
  }
}

EVONORM_INLINE void tile_by_row(Geometry& g) {
  if (g.row_channels > kTileFloats) {  // blocks of channels of one row
    const int64_t blocks = (g.row_channels + kTileFloats - 1) / kTileFloats;
    g.tile_channels = round_up((g.row_channels + blocks - 1) / blocks, kLanes);
    g.tile_rows = 1;
    g.width = g.tile_channels;
    return;
  }
  g.tile_channels = g.row_channels;
  // Four accumulator vectors at a time want `width` to be a multiple of four vectors, if a tile can hold that.
  int64_t repeats = repeats_until_divisible(g.row_channels, 4 * kLanes);
  if (repeats * g.row_channels > kTileFloats || repeats > g.plane)
    repeats = repeats_until_divisible(g.row_channels, kLanes);
  g.width = repeats * g.row_channels;
  const int64_t rows = larger(kTileFloats / g.width, 1) * repeats;
  g.tile_rows = smaller(rows, round_up(g.plane, repeats));
}

// False for a call that makes no sense.
EVONORM_INLINE bool find_geometry(const EvoCall& call, Geometry& g) {
  constexpr int64_t kLargest = int64_t(1) << 40;
  if (call.batch < (call.exchange ? 0 : 1) || call.channels < 1 || call.plane < 1 || call.groups < 1) return false;
  if (call.batch > kLargest / call.channels || call.batch * call.channels > kLargest / call.plane) return false;
  if (call.channels % call.groups || call.layout < 0 || call.layout > 1 || call.dtype < 0 || call.dtype > 2) return false;
  g = Geometry{};
  g.batch = call.batch, g.channels = call.channels, g.plane = call.plane, g.groups = call.groups;
  g.pitch = round_up(call.channels, kPitchFloats);
  const bool single = call.dtype == EVO_FLOAT32;
  const bool rows = call.layout == EVO_CHANNELS_LAST || call.plane == 1;
  if (single && !(rows && g.channels > 1) && g.plane % kLanes == 0 && g.plane >= kSmallestPlane) {
    tile_by_plane(g);
    return true;
  }
  const int64_t repeats = repeats_until_divisible(g.channels, kLanes);
  const bool whole_vectors = g.channels * g.plane % kLanes == 0 && repeats * g.channels <= kTileFloats;
  g.staged = !single || !rows || !(g.channels % kLanes == 0 || whole_vectors);
  g.row_channels = g.staged ? round_up(g.channels, kLanes) : g.channels;
  tile_by_row(g);
  return true;
}

}  // namespace EVONORM_ISA
}  // namespace evonorm
