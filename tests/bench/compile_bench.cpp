// The compile service on one solution: what does a change of a kernel cost, and what a cache hit?
// compile_bench SOLUTION TEMPLATE TORCH PYTHON CACHE ROUNDS prints {"changed_ms": [...], …}.
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "common/asio/clock.hpp"
#include "common/base/check.hpp"
#include "common/base/files.hpp"
#include "sandbox/adapters/gxx_compile_service.hpp"
#include "tests/support/task_runner.hpp"

namespace {

namespace fs = std::filesystem;
using namespace swage;
using namespace swage::sandbox;

void add(std::vector<WorkFile>& files, const fs::path& at, const std::string& name) {
  auto content = read_file(at);
  check(content.has_value(), "a file of the solution cannot be read");
  files.push_back({name, 0644, std::move(*content)});
}

std::vector<WorkFile> solution(const fs::path& folder, const fs::path& pristine) {
  std::vector<WorkFile> files;
  add(files, folder / "model_new.py", "model_new.py");
  for (const auto& entry : fs::directory_iterator(folder / "kernels"))
    add(files, entry.path(), "kernels/" + entry.path().filename().string());
  for (const char* name : {"binding.cpp", "binding_registry.h"}) add(files, pristine / name, name);
  return files;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 7) {
    std::fprintf(stderr, "usage: %s SOLUTION TEMPLATE TORCH PYTHON CACHE ROUNDS\n", argv[0]);
    return 64;
  }
  CompileSettings settings;
  settings.toolchain.torch_directory = argv[3];
  settings.toolchain.python = argv[4];
  settings.cache_directory = fs::path(argv[5]) / "objects";
  settings.scratch_directory = fs::path(argv[5]) / "scratch";
  if (::geteuid() == 0) settings.compile_uid = kCompileUid;
  test::TaskRunner run;
  const auto clock = make_steady_clock();
  const auto service = make_gxx_compile_service(run.executor(), *clock, probe_host(), settings);
  StopSource stop;
  auto files = solution(argv[1], argv[2]);
  const auto compile = [&] {
    const auto began = std::chrono::steady_clock::now();
    const auto outcome = run(service->compile(files, stop), std::chrono::minutes(10));
    const auto said = outcome ? outcome->diagnostics : outcome.error().message;
    check(outcome && outcome->compiled, said.c_str());
    return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - began)
        .count();
  };
  nlohmann::json out{{"first_ms", compile()}};
  const auto kernel = std::find_if(files.begin(), files.end(), [](const WorkFile& file) {
    return file.path == "kernels/run.cpp";
  });
  check(kernel != files.end(), "the solution has no kernels/run.cpp");
  for (int i = 0; i < std::atoi(argv[6]); ++i) {
    kernel->content +=
        "// change " + std::to_string(clock->now().time_since_epoch().count()) + "\n";
    out["changed_ms"].push_back(compile());
    out["hit_ms"].push_back(compile());
  }
  std::printf("%s\n", out.dump().c_str());
  return 0;
}
