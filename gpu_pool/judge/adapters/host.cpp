#include "gpu_pool/judge/adapters/host.hpp"

#include <fcntl.h>
#include <linux/futex.h>
#include <poll.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <thread>
#include <tuple>

#include "gpu_pool/judge/adapters/raw_clock.hpp"

namespace swage::judge {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr milliseconds kSendLimit{2000};
constexpr milliseconds kStopLimit{2000};
constexpr milliseconds kLookEvery{20};  // for death and memory, while a call runs
constexpr std::size_t kLogTail = 64 << 10;

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

Host::Host(HostParts parts) : parts_(std::move(parts)), threads_(parts_.pid) {}

Host::~Host() {
  if (parts_.pidfd) kill();
}

bool Host::alive() const {
  pollfd watched{parts_.pidfd.get(), POLLIN, 0};
  return ::poll(&watched, 1, 0) == 0;
}

void Host::kill() { ::syscall(SYS_pidfd_send_signal, parts_.pidfd.get(), SIGKILL, nullptr, 0); }

bool Host::resume() {
  return ::syscall(SYS_pidfd_send_signal, parts_.pidfd.get(), SIGCONT, nullptr, 0) == 0;
}

HostFailure Host::death() {
  HostFailure failure;
  failure.kind = HostFailure::Kind::died;
  failure.memory_full = memory_limit_ > 0 && memory_seen_ > memory_limit_ / 20 * 19;
  const auto told = receive_packet(parts_.fate.get(), steady_clock::now() + milliseconds(5000));
  if (told && told->message.contains("status") && told->message["status"].is_number_integer())
    failure.wait_status = told->message["status"].get<int>();
  return failure;
}

void Host::sample_memory() {
  const std::string path = "/proc/" + std::to_string(parts_.pid) + "/statm";
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  std::array<char, 64> text{};
  if (!file || ::read(file.get(), text.data(), text.size() - 1) <= 0) return;
  const auto pages = static_cast<std::size_t>(std::strtoull(text.data(), nullptr, 10));
  memory_seen_ = pages * static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
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
    sample_memory();
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
  auto arena = SharedMemory::make("arena", arena_bytes);
  if (!page || !arena) return tl::unexpected(protocol_failure("no shared memory"));
  parts_.page = std::move(*page);
  parts_.arena = std::move(*arena);
  auto born = answer("born", {"missing"}, limit);
  if (!born) return tl::unexpected(born.error());
  const nlohmann::json hello{
      {"op", "hello"}, {"nonce", parts_.pid}, {"arena_bytes", arena_bytes}, {"poison", poison}};
  const std::vector<int> shared{parts_.page.descriptor().get(), parts_.arena.descriptor().get()};
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
    sample_memory();
  }
}

Result<Host::Call, HostFailure> Host::call(Operation operation, std::uint64_t input_bytes,
                                           Milliseconds limit) {
  const std::uint32_t ring = page().ring + 1;
  const double waited_before = threads_.waited_ns();
  std::atomic_ref(page().operation).store(static_cast<std::uint32_t>(operation));
  std::atomic_ref(page().ring).store(ring, std::memory_order_release);
  const SteadyTime deadline = steady_clock::now() + limit;
  const double t0 = raw_ns();
  if (!resume()) return tl::unexpected(death());
  if (const auto done = wait_done(ring, deadline); !done) return tl::unexpected(done.error());
  if (const auto stopped = stop(steady_clock::now() + kStopLimit); !stopped)
    return tl::unexpected(stopped.error());
  const double t1 = raw_ns();
  CallPage copy;
  std::memcpy(&copy, &page(), sizeof copy);
  if (copy.status != 1) {
    const auto why = answer("failed", {}, kSendLimit);  // sent before `done`: it is there
    return tl::unexpected(why ? protocol_failure("a call failed without a reason") : why.error());
  }
  auto outputs = read_outputs(copy, parts_.arena.size(), input_bytes);
  if (!outputs) return tl::unexpected(protocol_failure(outputs.error()));
  Call call;
  call.window_us = (t1 - t0) / 1e3;
  call.waited_us = (threads_.waited_ns() - waited_before) / 1e3;
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
