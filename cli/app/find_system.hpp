#pragma once

#include <ctime>
#include <filesystem>
#include <optional>
#include <string>

#include "common/base/result.hpp"
#include "common/http/client.hpp"

namespace swage::cli {

/// What the user said about where the system is.
struct Where {
  std::string server;           ///< --server URL, or SWAGE_SERVER
  std::filesystem::path out;    ///< --out DIR
  std::filesystem::path state;  ///< ${XDG_STATE_HOME:-~/.local/state}/swage/runs
};

/// A run on this machine, from its run.json.
struct LocalRun {
  std::filesystem::path out;
  std::string run, run_uid;
  HttpTarget http;
  std::filesystem::path tokenizer;  ///< of the run's model
  int pid = 0;
  std::string state;   ///< starting to ended, as run.json says; `died`: ended without saying so
  bool alive = false;  ///< its controller still runs
};

/// `Where` from the options and this process's environment.
Where where_from(const std::string& server, const std::string& out);

/// The directory of a local run: --out, else the newest under `state`. Errors: there is none.
Result<std::filesystem::path, std::string> find_out(const Where& where);

/// Reads OUT/run.json. Errors: not a run's directory.
Result<LocalRun, std::string> read_local_run(const std::filesystem::path& out);

/// The HTTP API to talk to (wire.md section 3, in order). Errors: none was found, with what to do.
Result<HttpTarget, std::string> find_server(const Where& where);

/// Who starts a run, and when: two starts in one second are two processes.
struct Start {
  std::time_t at;
  int process;
  static Start now();
};

/// Where a new local run lies when the user names no directory.
std::filesystem::path new_out(const Where& where, const std::string& file, Start start);

/// The folder of this program, and share/swage beside it.
std::filesystem::path binary_directory();
std::filesystem::path share_directory();

}  // namespace swage::cli
