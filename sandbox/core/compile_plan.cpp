#include "sandbox/core/compile_plan.hpp"

#include <algorithm>

#include "common/base/digest.hpp"
#include "common/base/utf8.hpp"
#include "sandbox/core/include_scan.hpp"
#include "sandbox/core/text.hpp"

namespace swage::sandbox {
namespace {

std::string text(std::string_view view) { return std::string(view); }

std::vector<std::string> common_flags() {
  return {"-std=c++17",
          "-march=x86-64-v3",
          "-fopenmp",
          "-fPIC",
          "-fvisibility=hidden",
          "-Wall",
          "-Wno-unknown-pragmas",
          "-fdiagnostics-color=never"};
}

/// Bindings carry no loops of their own, and pybind11 is what costs: -O1 saves a third.
std::vector<std::string> binding_flags() {
  auto flags = common_flags();
  for (const char* flag : {"-O1", "-DTORCH_API_INCLUDE_EXTENSION_H",
                           "-DTORCH_EXTENSION_NAME=cuda_extension", "-isystem"})
    flags.emplace_back(flag);
  flags.push_back(text(kTorchPlace) + "/include");
  flags.emplace_back("-isystem");
  flags.push_back(text(kTorchPlace) + "/include/torch/csrc/api/include");
  flags.emplace_back("-isystem");
  flags.push_back(text(kPythonPlace));
  return flags;
}

/// The target is the one GPU that is supported; fast maths is what the precision rule's floors
/// allow.
std::vector<std::string> cuda_argv() {
  return {text(kCudaPlace) + "/bin/nvcc",
          "-std=c++17",
          "-O3",
          "--use_fast_math",
          "-gencode",
          "arch=compute_90a,code=sm_90a",
          "-ccbin",
          "g++",
          "-Xcompiler",
          "-fPIC",
          "-cudart",
          "shared"};
}

bool is_cuda(const WorkFile& file) { return file.path.ends_with(".cu"); }

bool is_source(const WorkFile& file, bool cuda) {
  const auto slash = file.path.find('/');
  const bool placed =
      slash == std::string::npos ||
      (file.path.starts_with("kernels/") && file.path.find('/', slash + 1) == std::string::npos);
  return placed && (file.path.ends_with(".cpp") || (cuda && is_cuda(file)));
}

bool is_binding(const WorkFile& file) {
  return file.path == "binding.cpp" || file.path.ends_with("_binding.cpp");
}

std::string key_of(const std::string& toolchain_id, const std::vector<std::string>& argv,
                   const std::vector<const WorkFile*>& visible) {
  Sha256 hash;
  hash.update("object 1\n" + toolchain_id + "\n");
  for (const auto& argument : argv) hash.update(argument + "\n");
  for (const auto* file : visible) hash.update(file->path + " " + sha256_hex(file->content) + "\n");
  return hash.hex();
}

CompileUnit make_unit(const std::vector<WorkFile>& files, const WorkFile& source,
                      const std::string& cxx, const std::string& toolchain_id) {
  CompileUnit unit;
  unit.source = &source;
  unit.kind = is_binding(source) ? CompileUnit::Kind::binding
              : is_cuda(source)  ? CompileUnit::Kind::cuda
                                 : CompileUnit::Kind::kernel;
  unit.visible = visible_files(files, source);
  unit.argv = {cxx};
  if (unit.kind == CompileUnit::Kind::binding) {
    for (auto& flag : binding_flags()) unit.argv.push_back(std::move(flag));
    unit.argv.emplace_back("-include");
    unit.argv.push_back(text(kHeaderPlace) + "/binding.hpp");
  } else if (unit.kind == CompileUnit::Kind::cuda) {
    unit.argv = cuda_argv();
  } else {
    for (auto& flag : common_flags()) unit.argv.push_back(std::move(flag));
    unit.argv.emplace_back("-O3");
  }
  for (const char* flag : {"-I.", "-Ikernels", "-c"}) unit.argv.emplace_back(flag);
  unit.argv.push_back(source.path);
  unit.argv.emplace_back("-o");
  unit.argv.push_back(text(kOutputPlace) + "/object.o");
  unit.key = key_of(toolchain_id, unit.argv, unit.visible);
  return unit;
}

std::vector<std::string> link_argv(const std::string& cxx, std::size_t objects, bool cuda) {
  std::vector<std::string> argv{cxx,
                                "-shared",
                                "-fopenmp",
                                "-Wl,-z,noexecstack",
                                "-Wl,--build-id=none",
                                "-o",
                                text(kOutputPlace) + "/cuda_extension.so"};
  for (std::size_t i = 0; i < objects; ++i)
    argv.push_back(text(kSourcePlace) + "/" + std::to_string(i) + ".o");
  argv.emplace_back("-Wl,--no-as-needed");
  argv.push_back("-L" + text(kStubPlace));
  for (const auto& file : stub_files(cuda)) argv.push_back("-l:" + file);
  return argv;
}

}  // namespace

const std::vector<std::string>& torch_libraries() {
  static const std::vector<std::string> kNames{"torch_python", "torch", "torch_cpu", "c10"};
  return kNames;
}

std::vector<std::string> stub_files(bool cuda) {
  std::vector<std::string> out;
  for (const auto& library : torch_libraries()) out.push_back("lib" + library + ".so");
  if (cuda) out.push_back(text(kCudaRuntime));
  return out;
}

Result<CompilePlan, std::string> plan_compilation(const std::vector<WorkFile>& files,
                                                  const std::string& cxx,
                                                  const std::string& toolchain_id, bool cuda) {
  CompilePlan plan;
  std::vector<const WorkFile*> sources;
  for (const auto& file : files)
    if (is_source(file, cuda)) sources.push_back(&file);
  const auto own = std::ranges::count_if(
      sources, [](const WorkFile* file) { return file->path != "binding.cpp"; });
  if (own == 0)
    return tl::unexpected(std::string("There is nothing to compile: write kernels/<name>.") +
                          (cuda ? "cu" : "cpp") + " and kernels/<name>_binding.cpp first.");
  std::ranges::sort(sources, {}, [](const WorkFile* file) { return std::string_view(file->path); });
  for (const auto* source : sources)
    plan.units.push_back(make_unit(files, *source, cxx, toolchain_id));
  plan.link_argv = link_argv(cxx, plan.units.size(), cuda);
  Sha256 hash;
  hash.update("library 1\n" + toolchain_id + "\n");
  for (const auto& argument : plan.link_argv) hash.update(argument + "\n");
  for (const auto& unit : plan.units) hash.update(unit.key + "\n");
  plan.library_key = hash.hex();
  return plan;
}

std::vector<CompileUnit> template_units(const std::vector<WorkFile>& files, const std::string& cxx,
                                        const std::string& toolchain_id) {
  std::vector<CompileUnit> out;
  for (const auto& file : files)
    if (is_source(file, false)) out.push_back(make_unit(files, file, cxx, toolchain_id));
  return out;
}

std::vector<std::string> precompile_argv(const std::string& cxx) {
  std::vector<std::string> argv{cxx};
  for (auto& flag : binding_flags()) argv.push_back(std::move(flag));
  for (const char* flag : {"-x", "c++-header"}) argv.emplace_back(flag);
  argv.push_back(text(kHeaderPlace) + "/binding.hpp");
  argv.emplace_back("-o");
  argv.push_back(text(kOutputPlace) + "/binding.hpp.gch");
  return argv;
}

std::vector<std::string> stub_argv(const std::string& cxx, const std::string& file) {
  return {cxx,
          "-shared",
          "-x",
          "c",
          "empty.c",
          "-nostdlib",
          "-Wl,-soname," + file,
          "-o",
          text(kOutputPlace) + "/" + file};
}

std::string tidy_diagnostics(std::string_view diagnostics) {
  std::string out;
  const auto prefix = text(kSourcePlace) + "/";
  for (auto at = diagnostics.find(prefix); at != std::string_view::npos;
       at = diagnostics.find(prefix)) {
    out += diagnostics.substr(0, at);
    diagnostics.remove_prefix(at + prefix.size());
  }
  out += diagnostics;
  out = to_valid_utf8(out);
  if (out.size() <= kMaxDiagnostics) return out;
  std::string cut;
  auto characters = kMaxDiagnostics;  // a character has one to four bytes
  do {
    cut = cut_middle(out, characters);
    characters -= characters / 8;
  } while (cut.size() > kMaxDiagnostics);
  return cut;
}

}  // namespace swage::sandbox
