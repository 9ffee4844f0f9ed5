#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "common/base/result.hpp"
#include "gpu_pool/judge/core/tensor.hpp"

namespace swage::judge {

inline constexpr std::size_t kPageBytes = 4096;
inline constexpr std::size_t kMaxOutputs = 8;
inline constexpr std::size_t kMaxDimensions = 8;

/// What the judge asks of a host through the page.
enum class Operation : std::uint32_t {
  forward = 1,
  nothing = 2,  ///< the empty call, on the eager host only
  park = 3,     ///< back to control packets
};

/// One result as the host writes it. Untrusted.
struct PageOutput {
  std::uint64_t offset;
  std::uint8_t region;  ///< 0 arena, 1 inputs
  std::uint8_t type;
  std::uint8_t dimensions;
  std::uint8_t flags;  ///< 1: storage of an output that is still held
  std::uint32_t pad;
  std::uint64_t storage_offset;  ///< of the allocation that holds it
  std::uint64_t storage_bytes;
  std::int64_t shape[kMaxDimensions];
  std::int64_t stride[kMaxDimensions];
};

/// The 4 KiB shared with one host (swage_model_host/page.py is the other side). The judge copies it
/// once after a call and looks only at the copy.
struct CallPage {
  std::uint32_t ring;       ///< judge: raised by one for each call
  std::uint32_t operation;  ///< judge
  std::uint32_t input_set;  ///< judge
  std::uint32_t ghost;      ///< judge
  std::uint32_t done;       ///< host: the ring it has answered; a futex
  std::uint32_t status;     ///< host: 1 ok, 2 failed (a control packet says why)
  std::uint32_t outputs;    ///< host
  std::uint32_t container;  ///< host: 0 one tensor, 1 tuple, 2 list
  PageOutput output[kMaxOutputs];
};
static_assert(sizeof(PageOutput) == 160 && sizeof(CallPage) == 32 + 8 * 160);

/// A result whose place has been checked.
struct Output {
  enum class Region : std::uint8_t { arena, inputs } region = Region::arena;
  std::uint64_t offset = 0;  ///< bytes from the region's start
  std::uint64_t bytes = 0;   ///< of its span; 0 if it has no elements
  bool reused = false;       ///< the host says that an output still held has the same storage
  std::uint64_t storage_offset = 0;  ///< the allocation that holds it, within the region
  std::uint64_t storage_bytes = 0;
  TensorSpec spec;
};

/// What one call returned.
struct CallOutputs {
  std::uint32_t container = 0;
  std::vector<Output> outputs;
  /// What stood at sample_position(sample_seed, i) of each output when the window closed. Empty
  /// where the host stood still by then.
  std::vector<std::vector<std::uint32_t>> samples{};
  std::uint64_t sample_seed = 0;
};

/// Reads a copied page whose status is 1. Errors: a sentence for people, when counts, types, shapes
/// or places are not what a host may write. The regions are given by their sizes in bytes.
Result<CallOutputs, std::string> read_outputs(const CallPage& page, std::uint64_t arena_bytes,
                                              std::uint64_t input_bytes);

}  // namespace swage::judge
