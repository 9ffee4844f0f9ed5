#include "sandbox/core/shell_script.hpp"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>
#include <sys/wait.h>

#include <memory>
#include <optional>
#include <utility>

#include "common/base/present.hpp"

namespace swage::sandbox {
namespace {

// Variables that bash sets itself, or that may not be set, are not carried over.
constexpr std::string_view kScript = R"bash(
__swage_in=$1; __swage_command=$2; __swage_out=$3
set --
__swage_save() {
  local __swage_status=$? __swage_name IFS=$' \n'
  trap - EXIT
  set +euxv
  if [ -n "$__swage_out" ]; then
    {
      for __swage_name in $(compgen -v); do
        case $__swage_name in
          __swage_*|BASH*|EUID|PPID|SHELLOPTS|UID|_|DIRSTACK|FUNCNAME|GROUPS|PIPESTATUS|RANDOM) continue ;;
          SECONDS|EPOCH*|SRANDOM|LINENO|COMP_*|OPTIND|OPTERR|SHLVL|PWD|OLDPWD|HISTCMD|IFS) continue ;;
        esac
        [[ ${!__swage_name@a} == *r* ]] || declare -p "$__swage_name"
      done
      declare -f
      printf 'cd -- %q\nOLDPWD=%q\n# complete\n' "$PWD" "$OLDPWD"
    } > "$__swage_out" 2> /dev/null
  fi
  exit "$__swage_status"
}
if [ -s "$__swage_in" ]; then source "$__swage_in" 2> /dev/null; fi
trap __swage_save EXIT
eval "$(< "$__swage_command")"
__swage_save
)bash";

/// A compiled Perl expression; the library's own limits end a search that explodes.
class LineExpression {
 public:
  static std::optional<LineExpression> compile(const std::string& text) {
    int error = 0;
    PCRE2_SIZE where = 0;
    LineExpression out;
    out.code_.reset(pcre2_compile(reinterpret_cast<PCRE2_SPTR>(text.data()), text.size(),
                                  PCRE2_UTF | PCRE2_MATCH_INVALID_UTF, &error, &where, nullptr));
    if (!out.code_) return std::nullopt;
    out.match_.reset(pcre2_match_data_create_from_pattern(out.code_.get(), nullptr));
    return out;
  }
  bool matches(std::string_view line) const {
    return pcre2_match(code_.get(), reinterpret_cast<PCRE2_SPTR>(line.data()), line.size(), 0, 0,
                       match_.get(), nullptr) >= 0;
  }

 private:
  struct Free {
    void operator()(pcre2_code* code) const { pcre2_code_free(code); }
    void operator()(pcre2_match_data* data) const { pcre2_match_data_free(data); }
  };
  std::unique_ptr<pcre2_code, Free> code_;
  std::unique_ptr<pcre2_match_data, Free> match_;
};

std::string with_note(std::string output, const std::string& note) {
  if (!output.empty() && !output.ends_with('\n')) output += '\n';
  return output + "[" + note + "]";
}

}  // namespace

std::string_view shell_script() { return kScript; }

std::string describe_end(int wait_status) {
  if (WIFEXITED(wait_status)) return "exit code " + std::to_string(WEXITSTATUS(wait_status));
  return "ended by signal " + std::to_string(WTERMSIG(wait_status));
}

ShellAnswer shell_answer(std::string output, int wait_status) {
  if (WIFEXITED(wait_status) && WEXITSTATUS(wait_status) == 0)
    return {true, output.empty() ? "(no output)" : std::move(output)};
  return {false, with_note(std::move(output), describe_end(wait_status))};
}

ShellAnswer shell_timeout(std::string output, unsigned timeout_ms) {
  return {false, with_note(std::move(output), "timed out after " + std::to_string(timeout_ms) +
                                                  " ms and was ended; use a larger timeout or "
                                                  "run_in_background")};
}

ShellAnswer shell_cancelled(std::string output) {
  return {false, with_note(std::move(output), "cancelled")};
}

bool is_filter(const std::string& text) { return LineExpression::compile(text).has_value(); }

std::string filter_lines(std::string_view output, const std::string& filter) {
  const auto expression =
      present(LineExpression::compile(filter), "a filter is looked at before it is used");
  std::string out;
  while (!output.empty()) {
    const auto end = output.find('\n');
    const auto line = output.substr(0, end);
    if (expression.matches(line)) {
      out += line;
      out += '\n';
    }
    if (end == std::string_view::npos) break;
    output.remove_prefix(end + 1);
  }
  return out;
}

}  // namespace swage::sandbox
