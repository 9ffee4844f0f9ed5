#include "gpu_pool/judge/core/null_candidates.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>

#include "gpu_pool/judge/core/tensor_walk.hpp"

namespace swage::judge {
namespace {

using Bytes = std::vector<std::byte>;

/// Row-major elements without gaps.
Bytes gathered(const TensorView& tensor) {
  const std::size_t size = size_of(tensor.spec->type);
  Bytes out(element_count(*tensor.spec).value_or(0) * size);
  if (out.empty()) return out;
  const TensorSpec& spec = *tensor.spec;
  TensorWalk walk(spec.shape, spec.stride, spec.stride, 0);
  for (std::size_t at = 0; at < out.size(); at += size, walk.next())
    std::memcpy(out.data() + at, tensor.data + static_cast<std::size_t>(walk.at_a) * size, size);
  return out;
}

Bytes filled(const TensorView& like, double value) {
  const std::size_t size = size_of(like.spec->type);
  Bytes out(element_count(*like.spec).value_or(0) * size);
  for (std::size_t at = 0; at < out.size(); at += size)
    store_element(like.spec->type, value, out.data() + at);
  return out;
}

double mean_of(const TensorView& tensor, const std::function<double(double)>& of) {
  const Bytes values = gathered(tensor);
  const std::size_t size = size_of(tensor.spec->type);
  if (values.empty()) return 0;
  double sum = 0;
  for (std::size_t at = 0; at < values.size(); at += size)
    sum += of(load_element(tensor.spec->type, values.data() + at));
  const std::size_t elements = values.size() / size;
  return sum / static_cast<double>(elements);
}

/// The first dimension turned by one.
std::optional<Bytes> turned(const TensorView& tensor) {
  if (tensor.spec->shape.empty() || tensor.spec->shape.front() < 2) return std::nullopt;
  Bytes out = gathered(tensor);
  const std::size_t row = out.size() / static_cast<std::size_t>(tensor.spec->shape.front());
  std::rotate(out.begin(), out.begin() + static_cast<std::ptrdiff_t>(row), out.end());
  return out;
}

}  // namespace

std::string_view name_of(Null which) {
  switch (which) {
    case Null::zeros:
      return "all zeros";
    case Null::ones:
      return "all ones";
    case Null::mean:
      return "its mean everywhere";
    case Null::rows_permuted:
      return "its rows in another order";
    case Null::half_computed:
      return "half of it, and zeros";
    case Null::input:
      return "an input as it is";
    case Null::last_result:
      return "the result for other inputs";
  }
  return "";
}

std::optional<Bytes> null_result(Null which, const TensorView& expected,
                                 const std::vector<TensorView>& inputs, const TensorView& last) {
  switch (which) {
    case Null::zeros:
      return filled(expected, 0);
    case Null::ones:
      return filled(expected, 1);
    case Null::mean:
      // The mean of one element is that element: who has it has computed it.
      if (element_count(*expected.spec).value_or(0) < 2) return std::nullopt;
      return filled(expected, mean_of(expected, [](double value) { return value; }));
    case Null::rows_permuted:
      return turned(expected);
    case Null::half_computed: {
      Bytes out = gathered(expected);
      const std::size_t half = out.size() / size_of(expected.spec->type) / 2;
      std::fill(out.begin() + static_cast<std::ptrdiff_t>(half * size_of(expected.spec->type)),
                out.end(), std::byte{0});
      return out;
    }
    case Null::input:
      for (const auto& input : inputs)
        if (input.spec->type == expected.spec->type && input.spec->shape == expected.spec->shape)
          return gathered(input);
      return std::nullopt;
    case Null::last_result:
      return gathered(last);
  }
  return std::nullopt;
}

double root_mean_square(const TensorView& tensor) {
  return std::sqrt(mean_of(tensor, [](double value) { return value * value; }));
}

}  // namespace swage::judge
