#include "gpu_pool/worker/adapters/bundle_message.hpp"

#include "swage/v1/bundle.pb.h"

namespace swage::worker {

std::string encode_bundle(const std::string& id, const std::vector<sandbox::WorkFile>& files,
                          const sandbox::CompileOutcome& compiled) {
  v1::Bundle bundle;
  bundle.set_id(id);
  for (const auto& file : files) {
    auto& to = *bundle.add_files();
    to.set_path(file.path);
    to.set_mode(file.mode);
    to.set_content(file.content);
  }
  bundle.set_library(compiled.library);
  if (!compiled.compiled) bundle.set_compile_error(compiled.diagnostics);
  auto& record = *bundle.mutable_compile();
  for (const auto& hash : compiled.record.source_sha256) record.add_source_sha256(hash);
  for (const auto& part : compiled.record.argv) record.add_argv(part);
  record.set_toolchain(compiled.record.toolchain);
  record.set_library_sha256(compiled.record.library_sha256);
  record.set_wall_ms(static_cast<std::uint32_t>(compiled.record.wall.count()));
  record.set_units(compiled.record.units);
  record.set_cache_hits(compiled.record.cache_hits);
  return bundle.SerializeAsString();
}

}  // namespace swage::worker
