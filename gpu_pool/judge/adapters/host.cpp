#include "gpu_pool/judge/adapters/host.hpp"

#include <linux/futex.h>
#include <poll.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <thread>
#include <tuple>

#include "common/base/digest.hpp"
#include "gpu_pool/judge/adapters/raw_clock.hpp"

namespace swage::judge {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr milliseconds kSendLimit{2000};
constexpr milliseconds kStopLimit{2000};
constexpr milliseconds kLookEvery{20};          // for death, while a call runs
constexpr milliseconds kUnguardedReading{250};  // a judge without the guard takes its time
constexpr std::size_t kLogTail = 64 << 10;
constexpr std::uint32_t kSamples = 1U << 17;  // elements of a result that close a window

HostFailure protocol_failure(std::string message) {
  HostFailure failure;
  failure.kind = HostFailure::Kind::protocol;
  failure.message = std::move(message);
  return failure;
}

HostFailure timed_out(std::string stage) {
  HostFailure failure;
  failure.kind = HostFailure::Kind::timed_out;
  failure.stage = std::move(stage);
  return failure;
}

std::string text_field(const nlohmann::json& message, const char* key) {
  const auto at = message.find(key);
  return at != message.end() && at->is_string() ? at->get<std::string>() : std::string();
}

HostFailure own_words(const nlohmann::json& message) {
  HostFailure failure;
  failure.kind = HostFailure::Kind::failed;
  failure.stage = text_field(message, "stage");
  failure.category = text_field(message, "category");
  failure.message = text_field(message, "message");
  return failure;
}

}  // namespace

std::string_view name_of(Role role) {
  switch (role) {
    case Role::task:
      return "task";
    case Role::eager:
      return "eager";
    case Role::compile:
      return "compile";
    case Role::candidate:
      return "candidate";
    case Role::twin:
      return "twin";
    case Role::reference:
      return "reference";
    case Role::reader:
      return "reader";
  }
  return "";
}

Host::Host(HostParts parts, Device& device)
    : parts_(std::move(parts)), device_(&device), threads_(parts_.pid) {
  const std::string secret = random_bytes(sizeof sample_seed_);
  std::memcpy(&sample_seed_, secret.data(), sizeof sample_seed_);
}

bool Host::adopt() {
  if (!alive()) return false;  // it died between two evaluations
  auto arena = device_->open(std::move(parts_.arena_file), parts_.arena_bytes);
  if (!arena) return false;
  parts_.arena = std::move(*arena);
  return true;
}

Host::~Host() {
  if (parts_.pidfd) kill();
}

bool Host::alive() const {
  pollfd watched{parts_.pidfd.get(), POLLIN, 0};
  return ::poll(&watched, 1, 0) == 0;
}

bool Host::end(Milliseconds limit) {
  kill();
  pollfd watched{parts_.pidfd.get(), POLLIN, 0};
  return ::poll(&watched, 1, static_cast<int>(limit.count())) == 1;
}

void Host::kill() { ::syscall(SYS_pidfd_send_signal, parts_.pidfd.get(), SIGKILL, nullptr, 0); }

bool Host::resume() {
  return ::syscall(SYS_pidfd_send_signal, parts_.pidfd.get(), SIGCONT, nullptr, 0) == 0;
}

HostFailure Host::death() {
  HostFailure failure;
  failure.kind = HostFailure::Kind::died;
  const auto told = receive_packet(parts_.fate.get(), steady_clock::now() + milliseconds(5000));
  if (!told) return failure;
  const auto number = [&told](const char* key) {
    const auto found = told->message.find(key);
    const bool there = found != told->message.end() && found->is_number_integer();
    return there ? found->get<std::int64_t>() : 0;
  };
  failure.wait_status = static_cast<int>(number("status"));
  const auto peak = static_cast<std::uint64_t>(number("peak_bytes"));
  failure.memory_full = memory_limit_ > 0 && peak >= memory_limit_ / 10 * 9;
  return failure;
}

void Host::send(const nlohmann::json& message, const std::vector<int>& descriptors) {
  // A peer that has gone or does not read is found when its answer is waited for.
  std::ignore =
      send_packet(parts_.control.get(), message, descriptors, steady_clock::now() + kSendLimit);
}

Result<nlohmann::json, HostFailure> Host::answer(std::string_view operation,
                                                 std::initializer_list<std::string_view> keys,
                                                 Milliseconds limit) {
  const SteadyTime deadline = steady_clock::now() + limit;
  Result<Packet, ChannelErrc> packet = tl::unexpected(ChannelErrc::timed_out);
  while (!packet) {
    const SteadyTime next = std::min<SteadyTime>(deadline, steady_clock::now() + 5 * kLookEvery);
    packet = receive_packet(parts_.control.get(), next);
    if (packet) break;
    if (packet.error() == ChannelErrc::closed) return tl::unexpected(death());
    if (packet.error() == ChannelErrc::malformed)
      return tl::unexpected(protocol_failure("a control packet is not a small JSON object"));
    if (steady_clock::now() >= deadline) return tl::unexpected(timed_out(std::string(operation)));
  }
  const auto& message = packet->message;
  const std::string kind = text_field(message, "kind");
  if (kind == "failed") return tl::unexpected(own_words(message));
  if (kind != operation) return tl::unexpected(protocol_failure("a control packet is out of turn"));
  for (const auto& [key, value] : message.items())
    if (key != "kind" && std::ranges::find(keys, key) == keys.end())
      return tl::unexpected(protocol_failure("a control packet has an unknown field"));
  return packet->message;
}

Result<nlohmann::json, HostFailure> Host::ask(nlohmann::json message,
                                              const std::vector<int>& descriptors,
                                              std::initializer_list<std::string_view> keys,
                                              Milliseconds limit) {
  const std::string operation = message["op"];
  send(message, descriptors);
  return answer(operation, keys, limit);
}

Result<std::vector<std::string>, HostFailure> Host::greet(std::size_t arena_bytes, bool poison,
                                                          Milliseconds limit) {
  auto page = SharedMemory::make("page", kPageBytes);
  auto arena = device_->make("arena", arena_bytes);
  if (!page || !arena) return tl::unexpected(protocol_failure("no shared memory"));
  device_->prepare_arena(*arena, poison);
  parts_.page = std::move(*page);
  parts_.arena = std::move(*arena);
  auto born = answer("born", {"missing"}, limit);
  if (!born) return tl::unexpected(born.error());
  const nlohmann::json hello{
      {"op", "hello"}, {"nonce", parts_.pid}, {"arena_bytes", arena_bytes}, {"poison", poison}};
  const std::vector<int> shared{parts_.page.descriptor().get(), parts_.arena.descriptor()};
  const auto greeted = ask(hello, shared, {"nonce"}, limit);
  if (!greeted) return tl::unexpected(greeted.error());
  std::vector<std::string> missing;
  for (const auto& layer : (*born)["missing"])
    if (layer.is_string()) missing.push_back(layer.get<std::string>());
  return missing;
}

Result<void, HostFailure> Host::stop(SteadyTime deadline) {
  if (::syscall(SYS_pidfd_send_signal, parts_.pidfd.get(), SIGSTOP, nullptr, 0) != 0)
    return tl::unexpected(death());
  for (int looks = 0;; ++looks) {
    if (looks > 200) std::this_thread::sleep_for(std::chrono::microseconds(50));
    switch (threads_.look()) {
      case ThreadWatch::State::stopped:
        return {};
      case ThreadWatch::State::gone:
        return tl::unexpected(death());
      case ThreadWatch::State::running:
        if (steady_clock::now() >= deadline) return tl::unexpected(timed_out("stop"));
    }
  }
}

Result<void, HostFailure> Host::arm(Milliseconds limit) {
  if (const auto armed = ask({{"op", "arm"}}, {}, {}, limit); !armed)
    return tl::unexpected(armed.error());
  armed_ = true;
  if (const auto stopped = stop(steady_clock::now() + kStopLimit); !stopped) return stopped;
  threads_.go_first(true);
  return {};
}

bool Host::wake() {
  if (awake_ || !device_->rings_running_hosts()) return alive();
  const std::uint64_t before = threads_.turns();
  awake_ = resume();
  const SteadyTime limit = steady_clock::now() + kStopLimit;
  while (awake_ && threads_.turns() == before && steady_clock::now() < limit) {
  }
  return awake_;
}

Result<void, HostFailure> Host::rest() {
  if (!std::exchange(awake_, false)) return {};
  return stop(steady_clock::now() + kStopLimit);
}

Result<void, HostFailure> Host::park(Milliseconds limit) {
  std::atomic_ref(page().operation).store(static_cast<std::uint32_t>(Operation::park));
  std::atomic_ref(page().ring).fetch_add(1);
  threads_.go_first(false);
  if (!resume()) return tl::unexpected(death());
  armed_ = false;
  if (const auto parked = answer("parked", {}, limit); !parked)
    return tl::unexpected(parked.error());
  return {};
}

Result<void, HostFailure> Host::wait_done(std::uint32_t ring, SteadyTime deadline) {
  std::atomic_ref<std::uint32_t> done(page().done);
  while (true) {
    const std::uint32_t seen = done.load(std::memory_order_acquire);
    if (seen == ring) return {};
    const auto now = steady_clock::now();
    if (now >= deadline) return tl::unexpected(timed_out("forward"));
    const auto wait = std::min<steady_clock::duration>(deadline - now, kLookEvery);
    const timespec timeout{0, std::chrono::duration_cast<std::chrono::nanoseconds>(wait).count()};
    const long woken = ::syscall(SYS_futex, &page().done, FUTEX_WAIT, seen, &timeout, nullptr, 0);
    if (woken == 0 || errno != ETIMEDOUT) continue;
    if (!alive()) return tl::unexpected(death());
  }
}

Result<void, HostFailure> Host::spin_until_done(std::uint32_t ring, SteadyTime deadline) {
  constexpr std::uint32_t kSpinsPerLook = 1U << 12;
  const std::atomic_ref<std::uint32_t> done(page().done);
  SteadyTime look = steady_clock::now() + kLookEvery;
  for (std::uint32_t spins = 1; done.load(std::memory_order_acquire) != ring; ++spins) {
    if (spins % kSpinsPerLook != 0 || steady_clock::now() < look) continue;
    look = steady_clock::now() + kLookEvery;
    if (look >= deadline) return tl::unexpected(timed_out("forward"));
    if (!alive()) return tl::unexpected(death());
  }
  return {};
}

void Host::sample(CallOutputs& outputs) {
  outputs.sample_seed = sample_seed_++;
  const auto share =
      kSamples / std::max<std::uint32_t>(1, static_cast<std::uint32_t>(outputs.outputs.size()));
  for (const Output& output : outputs.outputs) {
    const bool there = output.region == Output::Region::arena && output.bytes > 0;
    outputs.samples.push_back(there ? device_->sample(arena().subspan(output.offset, output.bytes),
                                                      outputs.sample_seed, share)
                                    : std::vector<std::uint32_t>());
  }
}

Result<Host::Call, HostFailure> Host::call(Operation operation, std::uint64_t input_bytes,
                                           Milliseconds limit, bool ghost) {
  const bool running = device_->rings_running_hosts();
  if (running && !wake()) return tl::unexpected(death());
  const std::uint32_t ring = page().ring + 1;
  const double waited_before = threads_.waited_ns() + own_waited_ns();
  std::atomic_ref(page().operation).store(static_cast<std::uint32_t>(operation));
  std::atomic_ref(page().ghost).store(ghost ? 1U : 0U);
  const SteadyTime deadline = steady_clock::now() + limit;
  const double t0 = raw_ns();
  std::atomic_ref(page().ring).store(ring, std::memory_order_release);
  if (!running && !resume()) return tl::unexpected(death());
  const auto done = running ? spin_until_done(ring, deadline) : wait_done(ring, deadline);
  if (!done) return tl::unexpected(done.error());
  const double said_so = raw_ns();
  if (!by_standstill_) std::this_thread::sleep_for(kUnguardedReading);
  if (!running)
    if (const auto stopped = stop(steady_clock::now() + kStopLimit); !stopped)
      return tl::unexpected(stopped.error());
  double t1 = by_standstill_ ? raw_ns() : said_so;
  CallPage copy;
  std::memcpy(&copy, &page(), sizeof copy);
  Result<CallOutputs, std::string> outputs = tl::unexpected<std::string>("");
  if (copy.status == 1) outputs = read_outputs(copy, parts_.arena.size(), input_bytes);
  if (running && outputs) sample(*outputs);
  if (running && by_standstill_) t1 = raw_ns();
  // Before a running host is stopped: its idle threads wake up for that, and wait for their turn.
  const double waited = threads_.waited_ns() + own_waited_ns() - waited_before;
  if (running)
    if (const auto rested = rest(); !rested) return tl::unexpected(rested.error());
  if (copy.status != 1) {
    const auto why = answer("failed", {}, kSendLimit);  // sent before `done`: it is there
    return tl::unexpected(why ? protocol_failure("a call failed without a reason") : why.error());
  }
  if (!outputs) return tl::unexpected(protocol_failure(outputs.error()));
  Call call;
  call.window_us = (t1 - t0) / 1e3;
  call.waited_us = waited / 1e3;
  call.outputs = std::move(*outputs);
  return call;
}

std::string Host::log() const {
  const off_t size = ::lseek(parts_.log.get(), 0, SEEK_END);
  if (size <= 0) return {};
  const off_t from = std::max<off_t>(0, size - static_cast<off_t>(kLogTail));
  std::string text(static_cast<std::size_t>(size - from), '\0');
  const ssize_t got = ::pread(parts_.log.get(), text.data(), text.size(), from);
  text.resize(static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
  return text;
}

HostParts Host::release() { return std::move(parts_); }

}  // namespace swage::judge
