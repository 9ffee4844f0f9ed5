#include "cli/app/choose_out.hpp"

#include <system_error>

#include "common/base/exit_code.hpp"

namespace swage::cli {
namespace {

namespace fs = std::filesystem;

tl::unexpected<OutRefusal> refused(int code, std::string message) {
  return tl::unexpected(OutRefusal{code, std::move(message)});
}

tl::unexpected<OutRefusal> in_use(const LocalRun& run) {
  return refused(exit_code::kBadInput,
                 run.out.string() + " is used by a live controller (process " +
                     std::to_string(run.pid) + "): `swage status --out " + run.out.string() +
                     "` shows it; stop it first (Ctrl-C), or give another --out");
}

/// Renames a finished run and its controller's log. Returns its new place.
Result<fs::path, std::string> move_aside(const fs::path& out) {
  fs::path to;
  int number = 0;
  do {
    to = out.string() + "." + std::to_string(++number);
  } while (fs::exists(to));
  std::error_code e;
  fs::rename(out, to, e);
  if (e) return tl::unexpected("cannot move " + out.string() + " aside: " + e.message());
  std::error_code ignored;  // it may be gone
  fs::rename(out.string() + ".controller.log", to.string() + ".controller.log", ignored);
  return to;
}

/// OUT holds a run that has ended and may be gone on with or replaced.
Result<ChosenOut, OutRefusal> run_again(const LocalRun& run) {
  const auto& out = run.out;
  if (run.state != "succeeded")
    return ChosenOut{
        out, true,
        out.string() + " holds a run that has not finished (" + run.state + "): going on with it"};
  const auto moved = move_aside(out);
  if (!moved) return refused(exit_code::kNotWritable, moved.error() + "; give another --out");
  return ChosenOut{out, false,
                   "the finished run in " + out.string() + " is now in " + moved->string()};
}

Result<ChosenOut, OutRefusal> choose_for_resume(const Where& where) {
  const auto found = find_out(where);
  if (!found) return refused(exit_code::kBadInput, found.error());
  const auto run = read_local_run(*found);
  if (!run) return refused(exit_code::kBadInput, run.error());
  if (run->alive) return in_use(*run);
  return ChosenOut{*found, true, ""};
}

}  // namespace

Result<ChosenOut, OutRefusal> choose_out(const RunOptions& options, const Where& where) {
  if (options.resume) return choose_for_resume(where);
  const auto out = where.out.empty() ? new_out(where, options.file, Start::now()) : where.out;
  std::error_code e;
  fs::create_directories(out.parent_path(), e);
  if (e)
    return refused(exit_code::kNotWritable, "cannot make " + out.parent_path().string() + ": " +
                                                e.message() +
                                                "; choose another --out or change its permissions");
  if (fs::exists(out, e) && !fs::is_directory(out, e))
    return refused(exit_code::kNotWritable,
                   out.string() + " is not a directory; choose another --out");
  if (!fs::exists(out / "run.json", e)) return ChosenOut{out, false, ""};
  const auto run = read_local_run(out);
  if (!run) return refused(exit_code::kBadInput, run.error());
  if (run->alive) return in_use(*run);
  if (options.again) return run_again(*run);
  return refused(exit_code::kBadInput, out.string() + " holds a run already (" + run->state +
                                           "): `swage run --resume --out " + out.string() +
                                           "` goes on with it; give another --out for a new one");
}

}  // namespace swage::cli
