#include "common/k8s/reflection.hpp"

#include "common/k8s/object.hpp"

namespace swage::k8s {
namespace {

constexpr Duration kLongEnough = std::chrono::seconds(1);
constexpr int kShortestWatch = 300;
constexpr int kWatchSpread = 300;

}  // namespace

Reflection::Step Reflection::next(double random) {
  if (const auto wait = std::exchange(wait_, std::nullopt)) return Wait{*wait};
  if (!watching_) return List{token_.empty() ? from_ : "", token_};
  return Watch{seen_,
               std::chrono::seconds(kShortestWatch + static_cast<int>(random * kWatchSpread))};
}

void Reflection::list_again(std::string resource_version) {
  watching_ = false;
  from_ = std::move(resource_version);
  token_.clear();
}

Reflection::Page Reflection::page(const std::string& resource_version,
                                  const std::string& continue_token, TimePoint now, double random) {
  if (token_.empty()) {
    // The store itself is right by definition, even when it was restored to an older state.
    if (!from_.empty() && older(resource_version, seen_)) {
      list_again("");
      wait_ = backoff_.failed(now, random);
      return Page::stale;
    }
    listed_ = resource_version;
    inconsistent_ = false;
  }
  token_ = continue_token;
  if (!token_.empty()) return Page::more;
  seen_ = listed_;
  watching_ = true;
  return Page::complete;
}

void Reflection::list_failed(const Error& error, TimePoint now, double random) {
  if (error.code == Errc::gone && !token_.empty() && !error.continue_token.empty()) {
    token_ = error.continue_token;
    inconsistent_ = true;
    return;
  }
  if (error.code == Errc::gone || revision_is_ahead(error)) list_again("");
  wait_ = backoff_.failed(now, random, error.retry_after);
}

void Reflection::watch_began(TimePoint now) {
  began_ = now;
  useful_ = false;
}

void Reflection::seen(const std::string& resource_version) {
  useful_ = true;
  relisted_ = false;
  // A repeated event must not take the watch back.
  if (!resource_version.empty() && !older(resource_version, seen_)) seen_ = resource_version;
}

void Reflection::watch_ended(TimePoint now, double random) {
  if (!useful_ && now - began_ < kLongEnough) wait_ = backoff_.failed(now, random);
}

void Reflection::watch_failed(const Error& error, TimePoint now, double random) {
  if (revision_is_ahead(error))
    list_again("");
  else if (error.code == Errc::gone)
    list_again(std::exchange(relisted_, true) ? "" : seen_);
  wait_ = backoff_.failed(now, random, error.retry_after);
}

}  // namespace swage::k8s
