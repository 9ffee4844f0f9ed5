#include "gpu_pool/judge/core/call_page.hpp"

namespace swage::judge {
namespace {

Result<Output, std::string> read_output(const PageOutput& from, std::uint64_t arena_bytes,
                                        std::uint64_t input_bytes) {
  const auto type = element_type_of(from.type);
  if (!type) return tl::unexpected<std::string>("unknown element type code");
  if (from.dimensions > kMaxDimensions) return tl::unexpected<std::string>("too many dimensions");
  if (from.region > 1) return tl::unexpected<std::string>("unknown region");
  Output out;
  out.region = static_cast<Output::Region>(from.region);
  out.reused = (from.flags & 1U) != 0;
  out.spec.type = *type;
  out.spec.shape.assign(from.shape, from.shape + from.dimensions);
  out.spec.stride.assign(from.stride, from.stride + from.dimensions);
  const auto span = span_elements(out.spec);
  if (!span) return tl::unexpected<std::string>("shape and strides are impossible");
  out.bytes = *span * size_of(*type);
  out.offset = from.offset;
  const std::uint64_t limit = out.region == Output::Region::arena ? arena_bytes : input_bytes;
  if (out.offset > limit || out.bytes > limit - out.offset)
    return tl::unexpected<std::string>("a result lies outside its memory");
  if (out.offset % size_of(*type) != 0)
    return tl::unexpected<std::string>("a result is not aligned");
  out.storage_offset = from.storage_offset;
  out.storage_bytes = from.storage_bytes;
  const bool holds = out.storage_offset <= out.offset && out.storage_bytes <= limit &&
                     out.storage_offset <= limit - out.storage_bytes &&
                     out.offset + out.bytes <= out.storage_offset + out.storage_bytes;
  if (!holds && out.bytes > 0)
    return tl::unexpected<std::string>("a result lies outside its storage");
  return out;
}

}  // namespace

Result<CallOutputs, std::string> read_outputs(const CallPage& page, std::uint64_t arena_bytes,
                                              std::uint64_t input_bytes) {
  if (page.outputs < 1 || page.outputs > kMaxOutputs)
    return tl::unexpected<std::string>("impossible number of results");
  if (page.container > 2) return tl::unexpected<std::string>("unknown container");
  if (page.container == 0 && page.outputs != 1)
    return tl::unexpected<std::string>("one tensor, but several results");
  CallOutputs out;
  out.container = page.container;
  for (std::uint32_t i = 0; i < page.outputs; ++i) {
    auto one = read_output(page.output[i], arena_bytes, input_bytes);
    if (!one) return tl::unexpected(one.error());
    out.outputs.push_back(std::move(*one));
  }
  return out;
}

}  // namespace swage::judge
