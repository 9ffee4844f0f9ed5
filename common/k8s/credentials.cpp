#include "common/k8s/credentials.hpp"

#include <utility>

#include "common/base/files.hpp"

namespace swage::k8s {

Credentials::Credentials(std::string token, std::filesystem::path file)
    : token_(std::move(token)), file_(std::move(file)) {}

const std::string& Credentials::token(TimePoint now) {
  if (!file_.empty() && (!read_at_ || now - *read_at_ >= kPeriod)) read(now);
  return token_;
}

bool Credentials::refused(TimePoint now) {
  if (file_.empty()) return false;
  read(now);
  return true;
}

void Credentials::read(TimePoint now) {
  read_at_ = now;
  auto content = read_file(file_);
  if (!content) return;
  while (!content->empty() && (content->back() == '\n' || content->back() == '\r'))
    content->pop_back();
  if (!content->empty()) token_ = std::move(*content);
}

}  // namespace swage::k8s
