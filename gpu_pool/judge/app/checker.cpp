#include "gpu_pool/judge/app/checker.hpp"

#include <algorithm>
#include <cstring>
#include <limits>
#include <mutex>

#include "common/base/digest.hpp"
#include "gpu_pool/judge/core/bands.hpp"
#include "gpu_pool/judge/core/precision.hpp"

namespace swage::judge {
namespace {

constexpr std::uint64_t kCompareBlock = 1U << 16;
constexpr std::uint32_t kSamples = 512;  // words of a held result that are looked at again

bool overlap(const Output& a, const Output& b) {
  return a.bytes > 0 && b.bytes > 0 && a.offset < b.offset + b.bytes &&
         b.offset < a.offset + a.bytes;
}

Ending ending(Code code, std::string why) { return {code, std::move(why)}; }

std::string number(std::size_t i, const CallOutputs& outputs) {
  return outputs.container == 0 ? "the result" : "result " + std::to_string(i);
}

}  // namespace

Checker::Content Checker::content_of(const Host& host, const Output& output) const {
  const std::span<const std::byte> memory =
      output.region == Output::Region::inputs ? inputs_ : host.arena();
  Content out{device_.read(memory.subspan(output.offset, output.bytes)), {}};
  out.view = {&output.spec, out.memory.bytes.data()};
  return out;
}

std::vector<std::uint32_t> Checker::sample(const Host& host, const Output& output) {
  if (output.region != Output::Region::arena || output.bytes == 0) return {};
  return device_.sample(host.arena().subspan(output.offset, output.bytes), 0, kSamples);
}

/// What closed the window must be what stands there now.
Result<void, Ending> Checker::held_still(const Host& candidate, const CallOutputs& got) {
  for (std::size_t i = 0; i < got.samples.size(); ++i) {
    const auto& seen = got.samples[i];
    if (seen.empty()) continue;
    const Output& output = got.outputs[i];
    const auto now = device_.sample(candidate.arena().subspan(output.offset, output.bytes),
                                    got.sample_seed, static_cast<std::uint32_t>(seen.size()));
    if (now != seen)
      return tl::unexpected(
          ending(Code::deferred_write, number(i, got) + " changed after the call had returned"));
  }
  return {};
}

Result<void, Ending> Checker::accept_expected(const CallOutputs& expected) const {
  std::uint64_t elements = 0;
  for (const auto& output : expected.outputs) {
    if (output.region != Output::Region::arena || output.reused)
      return tl::unexpected(
          ending(Code::task_invalid, "the task returns an input, or the same storage twice"));
    elements += element_count(output.spec).value_or(0);
  }
  if (elements == 0 && guards_.counted)
    return tl::unexpected(ending(Code::task_invalid, "the task returns no elements"));
  return {};
}

Result<void, Ending> Checker::same_metadata(const CallOutputs& got,
                                            const CallOutputs& expected) const {
  if (got.container != expected.container || got.outputs.size() != expected.outputs.size())
    return tl::unexpected(ending(Code::wrong_metadata,
                                 "forward returned " + std::to_string(got.outputs.size()) +
                                     " results in another container or number than the reference"));
  for (std::size_t i = 0; i < got.outputs.size(); ++i) {
    const TensorSpec& mine = got.outputs[i].spec;
    const TensorSpec& theirs = expected.outputs[i].spec;
    if (mine.type != theirs.type || mine.shape != theirs.shape)
      return tl::unexpected(ending(Code::wrong_metadata, number(i, got) + " is " + describe(mine) +
                                                             " and must be " + describe(theirs)));
    if (mine.stride != theirs.stride && !is_contiguous(mine))
      return tl::unexpected(ending(Code::wrong_metadata,
                                   number(i, got) + " is neither contiguous nor strided like the "
                                                    "reference's"));
  }
  return {};
}

Result<void, Ending> Checker::own_storage(const Host& candidate, const CallOutputs& got) {
  for (std::size_t i = 0; i < got.outputs.size(); ++i) {
    const Output& output = got.outputs[i];
    if (output.region == Output::Region::inputs)
      return tl::unexpected(
          ending(Code::aliased, number(i, got) + " shares storage with an input"));
    if (output.reused)
      return tl::unexpected(
          ending(Code::aliased, number(i, got) + " has the storage of an earlier result"));
    for (const Held& held : held_)
      for (const Output& earlier : held.outputs.outputs)
        if (overlap(output, earlier))
          return tl::unexpected(
              ending(Code::aliased, number(i, got) + " has the storage of an earlier result"));
  }
  for (const Held& held : held_)
    for (std::size_t i = 0; i < held.outputs.outputs.size(); ++i)
      if (sample(candidate, held.outputs.outputs[i]) != held.samples[i])
        return tl::unexpected(
            ending(Code::aliased, "an earlier result was changed by a later call"));
  return {};
}

bool Checker::passes_anyway(const Host& candidate, const CallOutputs& got, const Host& eager,
                            const CallOutputs& expected) {
  const bool right = same_metadata(got, expected).has_value() &&
                     compare_outputs(candidate, got, eager, expected).passed();
  keep(candidate, got);
  return right;
}

void Checker::keep(const Host& candidate, const CallOutputs& got) {
  Held held{got, {}};
  for (const auto& output : got.outputs) held.samples.push_back(sample(candidate, output));
  held_.push_back(std::move(held));
  freed_.clear();
  if (held_.size() > 2) {
    freed_ = std::move(held_.front().outputs.outputs);
    held_.pop_front();
  }
}

Comparison Checker::compare_whole(const TensorView& a, const TensorView& b, Tolerance tolerance) {
  Comparison total;
  std::mutex adding;
  room_.share_range(element_count(*a.spec).value_or(0), kCompareBlock,
                    [&](std::uint64_t begin, std::uint64_t end) {
                      const Comparison part = compare(a, b, tolerance, begin, end);
                      const std::lock_guard lock(adding);
                      total = merge(total, part);
                    });
  return total;
}

bool Checker::null_passes(Null which, const Host& eager, const CallOutputs& expected,
                          const CallOutputs& last, const std::vector<TensorView>& inputs) {
  for (std::size_t i = 0; i < expected.outputs.size(); ++i) {
    const Content right = content_of(eager, expected.outputs[i]);
    const Content before = content_of(eager, last.outputs[i]);
    const TensorView& truth = right.view;
    const auto made = null_result(which, truth, inputs, before.view);
    if (!made) return false;
    const TensorSpec spec{truth.spec->type, truth.spec->shape,
                          contiguous_stride(truth.spec->shape)};
    if (!compare_whole({&spec, made->data()}, truth, plan_.tolerance).passed()) return false;
  }
  return true;
}

std::optional<Null> Checker::passing_null(const Host& eager, const CallOutputs& expected,
                                          const CallOutputs& last,
                                          const std::vector<TensorView>& inputs) {
  if (last.outputs.size() != expected.outputs.size()) return std::nullopt;
  const auto at = std::ranges::find_if(
      kNulls, [&](Null which) { return null_passes(which, eager, expected, last, inputs); });
  return at == kNulls.end() ? std::nullopt : std::optional(*at);
}

double Checker::least_root_mean_square(const Host& eager, const CallOutputs& expected) const {
  double least = std::numeric_limits<double>::infinity();
  for (const Output& output : expected.outputs)
    least = std::min(least, root_mean_square(content_of(eager, output).view));
  return least;
}

Comparison Checker::compare_calls(const Host& host, const CallOutputs& a, const CallOutputs& b,
                                  Tolerance tolerance) {
  Comparison total;
  for (std::size_t i = 0; i < a.outputs.size(); ++i) {
    const Content one = content_of(host, a.outputs[i]);
    const Content other = content_of(host, b.outputs[i]);
    total = merge(total, compare_whole(one.view, other.view, tolerance));
  }
  return total;
}

Comparison Checker::compare_outputs(const Host& candidate, const CallOutputs& got,
                                    const Host& eager, const CallOutputs& expected) {
  Comparison total;
  const std::size_t count = std::min(got.outputs.size(), expected.outputs.size());
  for (std::size_t i = 0; i < count; ++i) {
    const Content mine = content_of(candidate, got.outputs[i]);
    const Content theirs = content_of(eager, expected.outputs[i]);
    total = merge(total, guards_.exact ? compare_whole(mine.view, theirs.view, plan_.tolerance)
                                       : compare_loosely(mine.view, theirs.view, plan_.tolerance));
  }
  if (!guards_.finite) {
    total.outside -= std::min(total.outside, total.nonfinite);
    total.nonfinite = 0;
  }
  return total;
}

Result<void, Ending> Checker::judge(const Host& candidate, const CallOutputs& got,
                                    const Host& eager, const CallOutputs& expected,
                                    CheckRecord& record) {
  if (guards_.exact)
    if (const auto same = same_metadata(got, expected); !same) return same;
  if (guards_.held)
    if (const auto own = own_storage(candidate, got); !own) return own;
  if (const auto still = held_still(candidate, got); !still) return still;
  for (const auto& output : got.outputs)
    if (guards_.guardalloc && output.region == Output::Region::arena &&
        !device_.bands_intact(candidate.arena(), output))
      return tl::unexpected(ending(Code::oob_write, "forward wrote outside its result"));
  const Comparison total = compare_outputs(candidate, got, eager, expected);
  record.elements = total.elements;
  record.max_abs = total.max_abs;
  record.passed = total.passed() && total.elements > 0;
  return remember(candidate, got, total);
}

Result<void, Ending> Checker::remember(const Host& candidate, const CallOutputs& got,
                                       const Comparison& total) {
  keep(candidate, got);
  if (total.elements == 0 && guards_.counted)
    return tl::unexpected(ending(Code::infra_error, "no element was compared"));
  if (total.nonfinite > 0)
    return tl::unexpected(ending(Code::nonfinite, std::to_string(total.nonfinite) + " of " +
                                                      std::to_string(total.elements) +
                                                      " elements are not finite"));
  if (total.outside > 0)
    return tl::unexpected(ending(
        Code::mismatch, std::to_string(total.outside) + " of " + std::to_string(total.elements) +
                            " elements are outside the tolerance; largest difference " +
                            std::to_string(total.max_abs)));
  return {};
}

void Checker::poison_next(Host& candidate) {
  if (!guards_.guardalloc) return;
  for (const Output& output : freed_)
    if (output.region == Output::Region::arena)
      device_.set(candidate.arena().subspan(output.offset, output.bytes), kPoisonByte);
  freed_.clear();
}

void Checker::forget_held() {
  held_.clear();
  freed_.clear();
}

Result<void, Ending> Checker::judge_precision(const Host& candidate, const CallOutputs& got,
                                              const Host& eager, const CallOutputs& expected,
                                              const Host& reference, const CallOutputs& exact,
                                              CheckRecord& record) const {
  for (std::size_t i = 0; i < exact.outputs.size(); ++i) {
    if (!is_floating(expected.outputs[i].spec.type)) continue;
    const Content truth = content_of(reference, exact.outputs[i]);
    const auto error = [&](const Host& host, const Output& output) {
      return precision_error(content_of(host, output).view, truth.view, plan_.tolerance);
    };
    const auto mine = error(candidate, got.outputs[i]);
    const auto theirs = error(eager, expected.outputs[i]);
    const auto limit = precision_limit(theirs, expected.outputs[i].spec.type);
    record.rel_l2 = std::max(record.rel_l2.value_or(0), mine.relative_l2);
    record.eager_rel_l2 = std::max(record.eager_rel_l2.value_or(0), theirs.relative_l2);
    record.limit = std::max(record.limit.value_or(0), limit.relative_l2);
    if (!within(mine, limit))
      return tl::unexpected(ending(Code::precision_downgrade,
                                   number(i, got) + " is less exact than the reference's: error " +
                                       std::to_string(mine.relative_l2) + " in the 2-norm, and " +
                                       std::to_string(limit.relative_l2) + " is the most"));
  }
  return {};
}

bool Checker::is_exact_enough(const Host& eager, const CallOutputs& expected, const Host& reference,
                              const CallOutputs& exact) const {
  const Tolerance tenth{plan_.tolerance.absolute / 10, plan_.tolerance.relative / 10};
  if (expected.outputs.size() != exact.outputs.size()) return false;
  for (std::size_t i = 0; i < exact.outputs.size(); ++i) {
    if (expected.outputs[i].spec.shape != exact.outputs[i].spec.shape) return false;
    const Content own = content_of(eager, expected.outputs[i]);
    const Content truth = content_of(reference, exact.outputs[i]);
    if (!precision_error(own.view, truth.view, tenth).close) return false;
  }
  return true;
}

Result<void, Ending> Checker::judge_repeat(const Host& candidate, const CallOutputs& first,
                                           const CallOutputs& second, CheckRecord& record) {
  const Tolerance quarter{plan_.tolerance.absolute / 4, plan_.tolerance.relative / 4};
  const Comparison total = compare_calls(candidate, second, first, quarter);
  record.elements = total.elements;
  record.max_abs = total.max_abs;
  // NaN where eager has one too is no sign of chance: the gate has looked at it already.
  record.passed = total.outside <= total.expected_nonfinite;
  if (record.passed) return {};
  return tl::unexpected(ending(
      Code::nondeterministic,
      "the same input gave two results; largest difference " + std::to_string(total.max_abs)));
}

void Checker::draw_end_bands(const Host& host) {
  device_.set(host.arena().first(kEndBandBytes), kBandByte);
  device_.set(host.arena().last(kEndBandBytes), kBandByte);
}

Result<void, Ending> Checker::end_bands(const Host& host) {
  const HostView first = device_.read(host.arena().first(kEndBandBytes));
  const HostView last = device_.read(host.arena().last(kEndBandBytes));
  if (band_intact(first.bytes) && band_intact(last.bytes)) return {};
  return tl::unexpected(ending(Code::oob_write, "forward wrote outside its memory"));
}

}  // namespace swage::judge
