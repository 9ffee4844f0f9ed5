#include "sandbox/app/config.hpp"

namespace swage::sandbox {
namespace {

constexpr std::int64_t kMaxUid = 2'000'000'000;
constexpr std::int64_t kHuge = std::int64_t{1} << 50;

std::optional<uid_t> uid_field(Fields& fields, const std::string& name) {
  if (!fields.has(name)) return std::nullopt;
  return static_cast<uid_t>(fields.integer(name, 0, 1, kMaxUid));
}

void bytes_field(Fields& fields, const std::string& name, std::uint64_t& value) {
  value =
      static_cast<std::uint64_t>(fields.integer(name, static_cast<std::int64_t>(value), 1, kHuge));
}

void read_limits(Fields fields, SandboxConfig& out) {
  bytes_field(fields, "memory_bytes", out.memory_bytes);
  bytes_field(fields, "work_bytes", out.work_bytes);
  bytes_field(fields, "temporary_bytes", out.temporary_bytes);
  bytes_field(fields, "data_bytes", out.limits.data_bytes);
  bytes_field(fields, "file_bytes", out.limits.file_bytes);
  bytes_field(fields, "processes", out.limits.processes);
  bytes_field(fields, "cpu_seconds", out.limits.cpu_seconds);
  bytes_field(fields, "open_files", out.limits.open_files);
  fields.finish();
}

void read_toolchain(Fields fields, Toolchain& out) {
  fields.require("torch_directory", "the torch folder of the Python environment");
  fields.require("python", "the Python interpreter of the environment with torch");
  out.cxx = fields.text("cxx", out.cxx);
  out.torch_directory = fields.text("torch_directory", "");
  out.python = fields.text("python", "");
  fields.finish();
}

void read_pod(Fields fields, PodPlaces& out) {
  out.shared = fields.text("shared_directory", out.shared.string());
  out.work = fields.text("work_directory", out.work.string());
  fields.finish();
}

void read_own(Fields& fields, SandboxConfig& out) {
  fields.require("root_directory", "a directory of its own");
  fields.require("object_cache_directory", "where compiled objects are kept");
  fields.require("toolchain", "{cxx, torch_directory, python}");
  out.pod_uid = fields.text("pod_uid", "");
  out.sandbox_token_sha256 = fields.text("sandbox_token_sha256", "");
  if (!out.sandbox_token_sha256.empty() && out.sandbox_token_sha256.size() != 64)
    fields.complain("sandbox_token_sha256", "must be 64 hex digits");
  out.root_directory = fields.text("root_directory", "");
  out.object_cache_directory = fields.text("object_cache_directory", "");
  out.header_cache_directory = fields.text("header_cache_directory", "");
  out.installed_header_directory =
      fields.text("installed_header_directory", out.installed_header_directory.string());
  out.template_directory = fields.text("template_directory", out.template_directory.string());
  read_toolchain(fields.object("toolchain"), out.toolchain);
  out.agent_uid = uid_field(fields, "agent_uid");
  out.compile_uid = uid_field(fields, "compile_uid");
  out.wall_clock = std::chrono::seconds(
      fields.integer("wall_clock_seconds", out.wall_clock.count(), 1, 10'000'000));
  out.bubblewrap = fields.text("bubblewrap", out.bubblewrap);
  out.allow_reduced = fields.boolean("allow_reduced", false);
  out.compile_slots = static_cast<unsigned>(fields.integer("compile_slots", 0, 0, 4096));
  read_limits(fields.object("limits"), out);
  if (const auto* list = fields.raw("must_not_reach")) {
    if (!list->is_array()) fields.complain("must_not_reach", "must be a list of IP:port");
    for (const auto& one : *list)
      if (one.is_string())
        out.must_not_reach.push_back(one.get<std::string>());
      else
        fields.complain("must_not_reach", "must hold texts only");
  }
  if (fields.has("pod")) read_pod(fields.object("pod"), out.pod.emplace());
}

}  // namespace

std::filesystem::path installed_share(const std::filesystem::path& program) {
  return program.parent_path().parent_path() / "share/swage/sandbox";
}

Result<SandboxConfig, ConfigError> read_sandbox_config(const std::filesystem::path& file,
                                                       const std::filesystem::path& program) {
  SandboxConfig out;
  const auto share = installed_share(program);
  out.template_directory = share / "template";
  out.installed_header_directory = share / "headers";
  auto process = read_process_config(file, [&](Fields& fields) { read_own(fields, out); });
  if (!process) return tl::unexpected(process.error());
  out.process = std::move(*process);
  if (out.process.listen.empty())
    return tl::unexpected(
        ConfigError{{file.string() + ": listen: is missing; give the gRPC address"}});
  return out;
}

}  // namespace swage::sandbox
