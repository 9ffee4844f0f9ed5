#include <gmock/gmock.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "common/asio/clock.hpp"
#include "common/base/descriptor.hpp"
#include "common/base/files.hpp"
#include "common/base/utf8.hpp"
#include "sandbox/adapters/gxx_compile_service.hpp"
#include "sandbox/adapters/gxx_toolchain.hpp"
#include "sandbox/adapters/object_cache.hpp"
#include "sandbox/core/compile_plan.hpp"
#include "tests/support/task_runner.hpp"
#include "tests/support/temp_directory.hpp"

namespace swage::sandbox {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;
using testing::Each;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;

/// g++, but one that makes an object says first whether it met another one: it looks for one for
/// two seconds, so that compilers that may run together do meet. Its TMPDIR is
/// <scratch>/<compilation>/output, and the record lies beside <scratch>.
constexpr const char* kRecordingCxx = R"script(#!/bin/bash
record=$(dirname "$(dirname "$(dirname "$TMPDIR")")")/record
case "$*" in *object.o) ;; *) exec /usr/bin/g++ "$@" ;; esac
mkdir -p "$record"
: > "$record/running.$$"
met=alone
for _ in $(seq 40); do
  if [ "$(ls "$record" | grep -c running)" -gt 1 ]; then met=together; break; fi
  sleep 0.05
done
echo $met >> "$record/all"
/usr/bin/g++ "$@"
code=$?
rm "$record/running.$$"
exit $code
)script";

/// Compile services as sandboxes of one machine have them: one cache, each its own process's
/// scratch directory in the same place. No container: the recording compiler lies outside of it.
class CompileLimits : public testing::Test {
 protected:
  void SetUp() override {
#ifdef SWAGE_TEST_TORCH_DIR
    const fs::path torch = SWAGE_TEST_TORCH_DIR;
    const auto venv = torch.parent_path().parent_path().parent_path().parent_path();
    settings_.toolchain = {(directory_.path() / "cxx").string(), torch, venv / "bin/python3", {}};
#else
    GTEST_SKIP() << "needs torch's headers: configured with SWAGE_TORCH=OFF";
#endif
    std::ofstream(settings_.toolchain.cxx) << kRecordingCxx;
    fs::permissions(settings_.toolchain.cxx, fs::perms::owner_all);
    settings_.cache_directory = directory_.path() / "objects";
    settings_.scratch_directory = directory_.path() / "scratch";
    settings_.allow_reduced = true;
    settings_.slots = 1;
    fs::create_directories(settings_.scratch_directory);
    // Only kernels are compiled here: bindings' header and stubs would take half a minute. So the
    // link step fails, and no test looks at it.
    const auto facts = examine_toolchain(settings_.toolchain);
    ASSERT_TRUE(facts) << facts.error();
    const ObjectCache cache(settings_.cache_directory, settings_.cache_directory, 1);
    ASSERT_TRUE(cache.make_directories());
    fs::create_directories(cache.symbol_file(facts->id).parent_path());
    cache.mark_headers_complete(facts->id);
    ASSERT_TRUE(cache.headers_complete(facts->id));
  }
  std::unique_ptr<CompileService> service() {
    auto host = probe_host();
    host.containers = false;
    return make_gxx_compile_service(run_.executor(), *clock_, std::move(host), settings_);
  }
  /// `units` sources that no other name shares.
  static std::vector<WorkFile> sources(const std::string& name, int units = 1) {
    std::vector<WorkFile> out;
    for (int i = 0; i < units; ++i) {
      const auto unit = name + std::to_string(i);
      out.push_back({"kernels/" + unit + ".cpp", 0644, "int " + unit + "() { return 1; }\n"});
    }
    return out;
  }
  Result<CompileOutcome, CompileError> compile(std::vector<WorkFile> files) {
    const auto one = service();
    return run_(one->compile(std::move(files), stop_), 200s);
  }
  /// Compiles in two sandboxes at once.
  void compile_in_two_sandboxes() {
    const auto left = service();
    const auto right = service();
    const auto first = run_.start(left->compile(sources("left"), stop_));
    const auto second = run_.start(right->compile(sources("right"), stop_));
    ASSERT_TRUE(run_.wait_until([&] { return first->ended && second->ended; }, 200s));
    EXPECT_TRUE(first->value()) << first->value().error().message;
    EXPECT_TRUE(second->value()) << second->value().error().message;
  }
  /// What each compiler said, in the order of their starts.
  std::vector<std::string> met() const {
    std::ifstream in(directory_.path() / "record" / "all");
    std::vector<std::string> out;
    for (std::string line; std::getline(in, line);) out.push_back(line);
    return out;
  }

  test::TempDirectory directory_;
  test::TaskRunner run_;
  std::unique_ptr<Clock> clock_ = make_steady_clock();
  StopSource stop_;
  CompileSettings settings_;
};

TEST_F(CompileLimits, WithOneSlotTwoSandboxesNeverCompileAtOnce) {
  compile_in_two_sandboxes();
  EXPECT_THAT(met(), SizeIs(2));
  EXPECT_THAT(met(), Each("alone"));
}

TEST_F(CompileLimits, WithTwoSlotsTheyDo) {
  settings_.slots = 2;
  compile_in_two_sandboxes();
  EXPECT_THAT(met(), testing::Contains("together"));
}

TEST_F(CompileLimits, NoCompilerStartsWhenTheCompilationsTimeIsUsedUp) {
  settings_.total_limit = 1s;  // the first compiler takes two
  const auto outcome = compile(sources("unit", 3));
  ASSERT_TRUE(outcome) << outcome.error().message;
  EXPECT_FALSE(outcome->compiled);
  EXPECT_THAT(met(), SizeIs(1));
  EXPECT_THAT(outcome->diagnostics, HasSubstr("not compiled: the compilers of one compilation have "
                                              "1 s together, and they are used up"));
}

TEST_F(CompileLimits, AllCompileWhenTheTimeSuffices) {
  settings_.total_limit = 100s;
  const auto outcome = compile(sources("unit", 2));
  ASSERT_TRUE(outcome) << outcome.error().message;
  EXPECT_THAT(met(), SizeIs(2));
  EXPECT_THAT(outcome->diagnostics, Not(HasSubstr("not compiled")));
}

TEST_F(CompileLimits, ACompilerThatTakesTooLongIsEndedAndItsUnitNamed) {
  settings_.object_limit = 1s;  // it takes two
  const auto outcome = compile(sources("slow"));
  ASSERT_TRUE(outcome) << outcome.error().message;
  EXPECT_FALSE(outcome->compiled);
  EXPECT_THAT(outcome->diagnostics, HasSubstr("the compiler was ended: it took more than 1 s"));
  EXPECT_THAT(met(), IsEmpty());
}

TEST_F(CompileLimits, ACompilerHasNoDescriptorsButItsOwn) {
  const Descriptor leaking(::dup(STDERR_FILENO));  // without O_CLOEXEC
  const auto seen = directory_.path() / "seen";
  std::ofstream(settings_.toolchain.cxx)
      << "#!/bin/sh\ncase \"$*\" in *object.o) ls /proc/self/fd > " << seen.string()
      << ";; esac\nexec /usr/bin/g++ \"$@\"\n";
  ASSERT_TRUE(compile(sources("plain")));
  // 3 is the directory that ls reads.
  EXPECT_EQ(read_file(seen).value_or(""), "0\n1\n2\n3\n");
}

TEST_F(CompileLimits, OfMoreDiagnosticsThanAnybodyReadsBothEndsAreKeptInBoundedMemory) {
  std::ofstream(settings_.toolchain.cxx)
      << "#!/bin/bash\ncase \"$*\" in *object.o) ;; *) exec /usr/bin/g++ \"$@\" ;; esac\n"
         "{ echo the first error; head -c 200000000 /dev/zero | tr '\\0' '\\377'\n"
         "echo; echo the last error; } >&2\nexit 1\n";
  rusage before{};
  ::getrusage(RUSAGE_SELF, &before);
  const auto outcome = compile(sources("unit", 3));
  rusage after{};
  ::getrusage(RUSAGE_SELF, &after);
  ASSERT_TRUE(outcome) << outcome.error().message;
  EXPECT_FALSE(outcome->compiled);
  EXPECT_LE(outcome->diagnostics.size(), kMaxDiagnostics);
  EXPECT_TRUE(is_valid_utf8(outcome->diagnostics));
  EXPECT_THAT(outcome->diagnostics, testing::StartsWith("the first error\n"));
  EXPECT_THAT(outcome->diagnostics, testing::EndsWith("\nthe last error\n"));
  EXPECT_THAT(outcome->diagnostics, HasSubstr("characters left out"));
  EXPECT_LT(after.ru_maxrss - before.ru_maxrss, 32L << 10);  // KiB
}

}  // namespace
}  // namespace swage::sandbox
