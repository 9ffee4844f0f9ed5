#include "policy/model/safetensors.hpp"

#include <algorithm>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>

#include "common/base/json_text.hpp"

namespace swage::policy {
namespace {

using Json = nlohmann::json;

constexpr std::uint64_t kMaxHeader = 100'000'000;

tl::unexpected<ModelError> malformed(std::string message) {
  return tl::unexpected(ModelError{ModelErrc::malformed, "safetensors: " + std::move(message)});
}

std::uint64_t element_bytes(const std::string& dtype) {
  if (dtype == "F64" || dtype == "I64" || dtype == "U64") return 8;
  if (dtype == "F32" || dtype == "I32" || dtype == "U32") return 4;
  if (dtype == "F16" || dtype == "BF16" || dtype == "I16" || dtype == "U16") return 2;
  if (dtype == "I8" || dtype == "U8" || dtype == "BOOL") return 1;
  return 0;
}

/// Bytes a tensor needs; nothing if the shape is absurd.
std::optional<std::uint64_t> needed(const std::vector<std::int64_t>& shape, std::uint64_t each) {
  std::uint64_t total = each;
  for (const auto size : shape) {
    if (size < 0) return std::nullopt;
    if (__builtin_mul_overflow(total, static_cast<std::uint64_t>(size), &total))
      return std::nullopt;
  }
  return total;
}

Result<TensorRecord, ModelError> parse_entry(const std::string& name, const Json& entry,
                                             std::uint64_t data_at, std::uint64_t file_bytes) {
  TensorRecord record{name, entry.at("dtype").get<std::string>(),
                      entry.at("shape").get<std::vector<std::int64_t>>(), 0, 0};
  const auto begin = entry.at("data_offsets").at(0).get<std::uint64_t>();
  const auto end = entry.at("data_offsets").at(1).get<std::uint64_t>();
  const auto room = file_bytes - data_at;
  if (begin > end || end > room)
    return malformed("tensor `" + name + "` lies outside the file (truncated?)");
  const auto each = element_bytes(record.dtype);
  if (each == 0) return malformed("tensor `" + name + "`: dtype `" + record.dtype + "`");
  if (needed(record.shape, each) != end - begin)
    return malformed("tensor `" + name + "`: its shape does not fill its bytes");
  record.offset = data_at + begin;
  record.bytes = end - begin;
  return record;
}

Result<void, ModelError> check_overlap(std::vector<TensorRecord> records) {
  std::ranges::sort(records, {}, &TensorRecord::offset);
  for (std::size_t i = 1; i < records.size(); ++i)
    if (records[i - 1].offset + records[i - 1].bytes > records[i].offset)
      return malformed("tensors `" + records[i - 1].name + "` and `" + records[i].name +
                       "` overlap");
  return {};
}

}  // namespace

Result<std::vector<TensorRecord>, ModelError> parse_safetensors(std::string_view start,
                                                                std::uint64_t file_bytes) {
  std::uint64_t length = 0;
  if (start.size() < sizeof length || file_bytes < sizeof length)
    return malformed("shorter than its length field");
  std::memcpy(&length, start.data(), sizeof length);
  if (length > kMaxHeader || length > file_bytes - sizeof length ||
      length > start.size() - sizeof length)
    return malformed("the header's length is beyond the file");
  const auto json = Json::parse(start.substr(sizeof length, length), nullptr, false);
  if (json.is_discarded() || !json.is_object()) return malformed("the header is not JSON");
  std::vector<TensorRecord> records;
  try {
    for (const auto& [name, entry] : json.items()) {
      if (name == "__metadata__") continue;
      auto record = parse_entry(name, entry, sizeof length + length, file_bytes);
      if (!record) return tl::unexpected(record.error());
      records.push_back(std::move(*record));
    }
  } catch (const Json::exception& e) {
    return malformed(e.what());
  }
  if (const auto apart = check_overlap(records); !apart) return tl::unexpected(apart.error());
  return records;
}

Result<std::vector<TensorRecord>, ModelError> read_safetensors_header(
    const std::filesystem::path& file) {
  std::error_code failed;
  const auto size = std::filesystem::file_size(file, failed);
  std::ifstream in(file, std::ios::binary);
  if (failed || !in)
    return tl::unexpected(ModelError{ModelErrc::unreadable, file.string() + ": cannot be read"});
  std::string start(8, '\0');
  in.read(start.data(), 8);
  std::uint64_t length = 0;
  if (in) std::memcpy(&length, start.data(), sizeof length);
  if (in && length <= kMaxHeader && length <= size) {
    start.resize(8 + length);
    in.read(start.data() + 8, static_cast<std::streamsize>(length));
    start.resize(8 + static_cast<std::size_t>(in.gcount()));
  }
  auto records = parse_safetensors(start, size);
  if (!records)
    return tl::unexpected(
        ModelError{records.error().code, file.string() + ": " + records.error().message});
  return records;
}

std::string safetensors_header(const std::vector<TensorSpec>& tensors) {
  nlohmann::ordered_json json;
  json["__metadata__"] = {{"format", "pt"}};
  std::uint64_t at = 0;
  for (const auto& [name, shape] : tensors) {
    const auto bytes = needed(shape, 4).value_or(0);
    json[name] = {{"dtype", "F32"}, {"shape", shape}, {"data_offsets", {at, at + bytes}}};
    at += bytes;
  }
  auto text = json_text(json);
  text.resize((text.size() + 7) / 8 * 8, ' ');  // the data starts aligned
  const std::uint64_t length = text.size();
  std::string out(sizeof length, '\0');
  std::memcpy(out.data(), &length, sizeof length);
  return out + text;
}

}  // namespace swage::policy
