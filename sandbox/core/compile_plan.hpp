#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "common/base/result.hpp"
#include "sandbox/api/bundle.hpp"
#include "sandbox/api/compile_types.hpp"

namespace swage::sandbox {

/// Where a compile container shows things. Fixed, so that command lines and keys are equal
/// everywhere.
inline constexpr std::string_view kSourcePlace = "/src";
inline constexpr std::string_view kOutputPlace = "/out";
inline constexpr std::string_view kTorchPlace = "/toolchain/torch";
inline constexpr std::string_view kPythonPlace = "/toolchain/python";
inline constexpr std::string_view kHeaderPlace = "/toolchain/pch";
inline constexpr std::string_view kStubPlace = "/toolchain/stubs";
inline constexpr std::string_view kCudaPlace = "/toolchain/cuda";

/// What is precompiled for bindings.
inline constexpr std::string_view kBindingHeader =
    "#include <torch/types.h>\n#include <torch/csrc/utils/pybind.h>\n";

/// The torch libraries that a module needs by name when it is loaded.
const std::vector<std::string>& torch_libraries();
/// What a module with CUDA kernels needs beside them: the runtime that torch brings.
inline constexpr std::string_view kCudaRuntime = "libcudart.so.13";

/// One translation unit.
struct CompileUnit {
  enum class Kind {
    kernel,   ///< C++
    binding,  ///< C++ that sees torch
    cuda,     ///< for nvcc
  } kind = Kind::kernel;
  const WorkFile* source = nullptr;
  std::vector<const WorkFile*> visible;  ///< sorted by path, source included
  std::vector<std::string> argv;         ///< inside the container; argv[0] is the compiler
  std::string key;                       ///< of the object in the cache, 64 hex digits
};

struct CompilePlan {
  std::vector<CompileUnit> units;      ///< sorted by path
  std::vector<std::string> link_argv;  ///< objects are /src/<index>.o
  std::string library_key;
};

/// Which files are compiled, how, and under which keys. toolchain_id names compiler, torch and
/// Python versions. `cuda`: there is nvcc, and *.cu are sources too. The plan points into `files`.
/// Error: a sentence, e.g. that there is no source.
Result<CompilePlan, std::string> plan_compilation(const std::vector<WorkFile>& files,
                                                  const std::string& cxx,
                                                  const std::string& toolchain_id,
                                                  bool cuda = false);

/// The units that are alike in every work directory: those of the template's own files. Points into
/// `files`.
std::vector<CompileUnit> template_units(const std::vector<WorkFile>& files, const std::string& cxx,
                                        const std::string& toolchain_id);

/// Makes the precompiled header of bindings out of <kHeaderPlace>/binding.hpp.
std::vector<std::string> precompile_argv(const std::string& cxx);

/// Files of the empty libraries that modules are linked against.
std::vector<std::string> stub_files(bool cuda);
/// Makes the empty library <file>, which bears that name, out of /src/empty.c.
std::vector<std::string> stub_argv(const std::string& cxx, const std::string& file);

inline constexpr std::size_t kMaxDiagnostics = std::size_t{64} << 10;  ///< of one compilation

/// Compiler output as an agent should see it: `/src/` gone from paths, valid UTF-8, at most
/// kMaxDiagnostics bytes, of which the middle goes first.
std::string tidy_diagnostics(std::string_view text);

}  // namespace swage::sandbox
