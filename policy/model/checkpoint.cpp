// Models on disk and as one flat buffer.
#include <cstring>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "common/base/files.hpp"
#include "policy/model/decoder.hpp"
#include "policy/model/safetensors.hpp"

namespace swage::policy {
namespace {

namespace fs = std::filesystem;

tl::unexpected<ModelError> error(ModelErrc code, std::string message) {
  return tl::unexpected(ModelError{code, std::move(message)});
}

/// A tensor of the checkpoint and the file it is in.
struct Placed {
  fs::path file;
  TensorRecord record;
};

/// The checkpoint's files: one, or the shards that an index names.
Result<std::vector<fs::path>, ModelError> checkpoint_files(const fs::path& folder) {
  const auto single = folder / "model.safetensors";
  if (fs::exists(single)) return std::vector{single};
  const auto index = read_file(folder / "model.safetensors.index.json");
  if (!index)
    return error(ModelErrc::unreadable, folder.string() +
                                            ": neither model.safetensors nor "
                                            "model.safetensors.index.json is there");
  const auto json = nlohmann::json::parse(*index, nullptr, false);
  if (json.is_discarded() || !json.contains("weight_map") || !json["weight_map"].is_object())
    return error(ModelErrc::malformed, folder.string() + "/model.safetensors.index.json");
  std::set<fs::path> files;
  for (const auto& file : json["weight_map"]) {
    if (!file.is_string() || file.get<std::string>().find('/') != std::string::npos)
      return error(ModelErrc::malformed, folder.string() + "/model.safetensors.index.json");
    files.insert(folder / file.get<std::string>());
  }
  return std::vector(files.begin(), files.end());
}

Result<std::map<std::string, Placed>, ModelError> placed_tensors(const fs::path& folder) {
  const auto files = checkpoint_files(folder);
  if (!files) return tl::unexpected(files.error());
  std::map<std::string, Placed> out;
  for (const auto& file : *files) {
    auto records = read_safetensors_header(file);
    if (!records) return tl::unexpected(records.error());
    for (auto& record : *records) {
      const auto name = record.name;
      out.insert_or_assign(name, Placed{file, std::move(record)});
    }
  }
  return out;
}

std::string shape_text(const std::vector<std::int64_t>& shape) {
  std::string out = "[";
  for (const auto size : shape) out += (out.size() > 1 ? ", " : "") + std::to_string(size);
  return out + "]";
}

/// One error that lists everything missing, left over or of another shape.
Result<void, ModelError> check_tensors(const std::vector<NamedTensor>& wanted,
                                       const std::map<std::string, Placed>& there,
                                       const fs::path& folder) {
  std::string wrong;
  std::set<std::string> known{"lm_head.weight"};  // a tied model may carry its copy
  for (const auto& [name, tensor] : wanted) {
    known.insert(name);
    const auto found = there.find(name);
    if (found == there.end()) {
      wrong += "\n  missing: " + name;
    } else if (found->second.record.shape != tensor.sizes().vec()) {
      wrong += "\n  shape: " + name + " is " + shape_text(found->second.record.shape) + ", not " +
               shape_text(tensor.sizes().vec());
    } else if (const auto& dtype = found->second.record.dtype;
               dtype != "F32" && dtype != "BF16" && dtype != "F16") {
      wrong += "\n  dtype: " + name + " is " + dtype + ", not F32, BF16 or F16";
    }
  }
  for (const auto& [name, placed] : there)
    if (!known.contains(name)) wrong += "\n  left over: " + name;
  if (!wrong.empty())
    return error(ModelErrc::mismatch,
                 folder.string() + ": the tensors are another model's:" + wrong);
  return {};
}

Result<void, ModelError> fill(const Placed& placed, torch::Tensor to) {
  const auto& dtype = placed.record.dtype;
  const auto type = dtype == "F32"    ? torch::kFloat32
                    : dtype == "BF16" ? torch::kBFloat16
                                      : torch::kFloat16;
  const auto raw = torch::empty(placed.record.shape, type);
  std::ifstream in(placed.file, std::ios::binary);
  in.seekg(static_cast<std::streamoff>(placed.record.offset));
  in.read(static_cast<char*>(raw.data_ptr()), static_cast<std::streamsize>(placed.record.bytes));
  if (!in) return error(ModelErrc::unreadable, placed.file.string() + ": cannot be read");
  to.copy_(raw);
  return {};
}

Result<void, ModelError> load_into(const std::vector<NamedTensor>& tensors,
                                   const fs::path& folder) {
  const torch::NoGradGuard no_grad;
  const auto there = placed_tensors(folder);
  if (!there) return tl::unexpected(there.error());
  if (const auto fits = check_tensors(tensors, *there, folder); !fits) return fits;
  for (const auto& [name, tensor] : tensors)
    if (const auto done = fill(there->at(name), tensor); !done) return done;
  return {};
}

Result<ModelConfig, ModelError> load_config(const fs::path& folder) {
  const auto text = read_file(folder / "config.json");
  if (!text) return error(ModelErrc::unreadable, text.error().message);
  auto config = parse_config(*text);
  if (!config) return error(config.error().code, folder.string() + ": " + config.error().message);
  return config;
}

std::string file_bytes(const std::vector<NamedTensor>& tensors) {
  std::vector<TensorSpec> specs;
  for (const auto& [name, tensor] : tensors) specs.push_back({name, tensor.sizes().vec()});
  std::string out = safetensors_header(specs);
  for (const auto& [name, tensor] : tensors) {
    const auto dense = tensor.contiguous();
    out.append(static_cast<const char*>(dense.const_data_ptr()), dense.nbytes());
  }
  return out;
}

Result<void, ModelError> save_files(const ModelConfig& config, bool value_model,
                                    const std::vector<NamedTensor>& tensors,
                                    const fs::path& folder) {
  std::error_code failed;
  fs::create_directories(folder, failed);
  if (failed) return error(ModelErrc::unwritable, folder.string() + ": " + failed.message());
  const auto to_error = [](const FileError& e) {
    return ModelError{ModelErrc::unwritable, e.message};
  };
  return write_file_durably(folder / "config.json", config_json(config, value_model))
      .and_then(
          [&] { return write_file_durably(folder / "model.safetensors", file_bytes(tensors)); })
      .map_error(to_error);
}

}  // namespace

Result<Decoder, ModelError> Decoder::load(const fs::path& folder) {
  const auto config = load_config(folder);
  if (!config) return tl::unexpected(config.error());
  Decoder model(*config);
  if (const auto done = load_into(model.tensors(), folder); !done)
    return tl::unexpected(done.error());
  return model;
}

Result<ValueModel, ModelError> ValueModel::load(const fs::path& folder) {
  const auto config = load_config(folder);
  if (!config) return tl::unexpected(config.error());
  auto model = from_policy(Decoder::unset(*config));
  if (const auto done = load_into(model.tensors(), folder); !done)
    return tl::unexpected(done.error());
  return model;
}

Result<Decoder, ModelError> make_decoder(std::string_view source, std::int64_t vocabulary,
                                         std::uint64_t seed) {
  const auto config = model_config(source, vocabulary);
  if (!config) return tl::unexpected(config.error());
  if (source.starts_with("scratch:")) return Decoder::scratch(*config, seed);
  return Decoder::load(source);
}

Result<void, ModelError> save(const Decoder& model, const fs::path& folder) {
  return save_files(model.config(), false, model.tensors(), folder);
}
Result<void, ModelError> save(const ValueModel& model, const fs::path& folder) {
  return save_files(model.config(), true, model.tensors(), folder);
}

std::string flat_weights(const Decoder& model) {
  const auto layout = weight_layout(model.config());
  std::string out(layout.total_bytes, '\0');
  const auto tensors = model.tensors();
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    const auto dense = tensors[i].tensor.contiguous();
    std::memcpy(out.data() + layout.tensors[i].offset, dense.const_data_ptr(), dense.nbytes());
  }
  return out;
}

Result<Decoder, ModelError> from_flat_weights(const ModelConfig& config, std::string_view bytes) {
  const auto layout = weight_layout(config);
  if (bytes.size() != layout.total_bytes)
    return error(ModelErrc::mismatch, "weights: " + std::to_string(bytes.size()) +
                                          " bytes, the model has " +
                                          std::to_string(layout.total_bytes));
  auto model = Decoder::unset(config);
  const torch::NoGradGuard no_grad;
  const auto tensors = model.tensors();
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    const auto dense = tensors[i].tensor;  // rows of a leaf: contiguous
    std::memcpy(dense.data_ptr(), bytes.data() + layout.tensors[i].offset, dense.nbytes());
  }
  return model;
}

}  // namespace swage::policy
