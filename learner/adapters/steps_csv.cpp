#include "learner/adapters/steps_csv.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <sstream>

namespace swage::learner {
namespace {

tl::unexpected<TrainerError> failed(int error, const std::filesystem::path& file) {
  const bool full = error == ENOSPC || error == EDQUOT || error == EFBIG;
  return tl::unexpected(
      TrainerError{full ? TrainerError::Code::disk_full : TrainerError::Code::io,
                   "cannot write " + file.string() + ": " + std::strerror(error)});
}

void put(std::ostringstream& out, const std::optional<double>& value) {
  out << ',';
  if (value) out << *value;
}

}  // namespace

std::string StepsCsv::header() {
  return "stage,step,weight_version,trajectories,tokens,reward_mean,length_mean,turns_mean,"
         "truncated_share,policy_loss,value_loss,entropy,kl_behaviour,clip_low,clip_high,"
         "explained_variance,grad_norm_actor,grad_norm_critic,effective_sample_size,learning_rate,"
         "staleness_max,skipped,wall_seconds,unix_ms\n";
}

std::string StepsCsv::line(const StepRow& row) {
  std::ostringstream out;
  out.precision(8);
  out << row.stage << ',' << row.step << ',' << row.weight_version << ',' << row.trajectories << ','
      << row.tokens;
  for (const auto& value :
       {row.reward_mean, row.length_mean, row.turns_mean, row.truncated_share, row.policy_loss,
        row.value_loss, row.entropy, row.kl_behaviour, row.clip_low, row.clip_high,
        row.explained_variance, row.grad_norm_actor, row.grad_norm_critic,
        row.effective_sample_size, row.learning_rate})
    put(out, value);
  out << ',' << row.staleness_max << ',' << (row.skipped ? 1 : 0) << ',' << row.wall_seconds << ','
      << row.unix_ms << '\n';
  return out.str();
}

Result<StepsCsv, TrainerError> StepsCsv::open(std::filesystem::path file, std::uint64_t length) {
  StepsCsv csv(std::move(file));
  std::error_code error;
  const auto size = std::filesystem::file_size(csv.file_, error);
  if (!error && size > length) std::filesystem::resize_file(csv.file_, length, error);
  csv.length_ = error ? 0 : std::min<std::uint64_t>(size, length);
  if (csv.length_ == 0)
    if (auto added = csv.add(header()); !added) return tl::unexpected(added.error());
  return csv;
}

Result<void, TrainerError> StepsCsv::append(const StepRow& row) { return add(line(row)); }

Result<void, TrainerError> StepsCsv::add(const std::string& text) {
  const int file = ::open(file_.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
  if (file < 0) return failed(errno, file_);
  const auto wrote = ::pwrite(file, text.data(), text.size(), static_cast<off_t>(length_));
  const int error = wrote < 0 ? errno : ENOSPC;
  const bool whole = wrote == static_cast<ssize_t>(text.size());
  if (!whole && ::ftruncate(file, static_cast<off_t>(length_)) != 0) {
    // The next row starts at `length_` again and covers what could not be cut.
  }
  ::close(file);
  if (!whole) return failed(error, file_);
  length_ += text.size();
  return {};
}

}  // namespace swage::learner
