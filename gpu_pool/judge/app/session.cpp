#include "gpu_pool/judge/app/session.hpp"

#include "common/base/json_text.hpp"
#include "common/base/memory_file.hpp"
#include "gpu_pool/judge/adapters/control_channel.hpp"
#include "sandbox/api/bundle.hpp"

namespace swage::judge {
namespace {

constexpr std::size_t kMaxSource = 1UL << 20;
constexpr std::size_t kMaxFacts = 4UL << 20;
constexpr std::size_t kMaxState = 16UL << 30;
constexpr std::chrono::seconds kPatience{10};

std::optional<Role> role_of(const std::string& name) {
  for (const Role role : {Role::task, Role::eager, Role::compile})
    if (name_of(role) == name) return role;
  return std::nullopt;
}

/// Takes the descriptors of a packet in order.
class Taker {
 public:
  explicit Taker(std::vector<Descriptor> from) : from_(std::move(from)) {}
  bool has(std::size_t count) const { return at_ + count <= from_.size(); }
  Descriptor next() { return std::move(from_.at(at_++)); }

 private:
  std::vector<Descriptor> from_;
  std::size_t at_ = 0;
};

Result<HostParts, std::string> take_host(Taker& taker, const ResidentHost& host) {
  const auto role = role_of(host.role);
  if (!role || !taker.has(kHostDescriptors))
    return tl::unexpected<std::string>("malformed resident host");
  HostParts parts;
  parts.role = *role;
  parts.pid = static_cast<pid_t>(host.pid);
  parts.control = taker.next();
  parts.fate = taker.next();
  parts.pidfd = taker.next();
  parts.log = taker.next();
  auto page = SharedMemory::open(taker.next(), kPageBytes);
  if (!page) return tl::unexpected<std::string>("a resident host's memory cannot be mapped");
  parts.page = std::move(*page);
  parts.arena_file = taker.next();
  parts.arena_bytes = host.arena_bytes;
  return parts;
}

Result<KnownTask, std::string> take_task(Taker& taker) {
  if (!taker.has(2)) return tl::unexpected<std::string>("facts are missing");
  const auto text = read_memory_file(taker.next(), kMaxFacts);
  auto state = read_memory_file(taker.next(), kMaxState);
  if (!text || !state) return tl::unexpected<std::string>("facts cannot be read");
  const auto parsed = nlohmann::json::parse(*text, nullptr, false);
  auto facts = parse_facts(parsed);
  if (!facts) return tl::unexpected(facts.error());
  return KnownTask{std::move(*facts), std::move(*state)};
}

}  // namespace

Result<Assignment, std::string> Session::begin() {
  const auto deadline = std::chrono::steady_clock::now() + kPatience;
  auto packet = receive_packet(socket_.get(), deadline);
  if (!packet) return tl::unexpected<std::string>("no assignment came");
  auto begin = decode_begin(json_text(packet->message));
  if (!begin) return tl::unexpected(begin.error());
  Assignment out;
  out.begin = std::move(*begin);
  Taker taker(std::move(packet->descriptors));
  if (!taker.has(3)) return tl::unexpected<std::string>("descriptors are missing");
  out.zygote = taker.next();
  auto bundle = read_memory_file(taker.next(), sandbox::kMaxBundleBytes);
  auto source = read_memory_file(taker.next(), kMaxSource);
  if (!bundle || !source) return tl::unexpected<std::string>("bundle or task cannot be read");
  out.begin.request.bundle = std::move(*bundle);
  out.begin.request.task_source = std::move(*source);
  if (out.begin.known_task) {
    auto task = take_task(taker);
    if (!task) return tl::unexpected(task.error());
    out.task = std::move(*task);
  }
  for (const auto& host : out.begin.residents) {
    auto parts = take_host(taker, host);
    if (!parts) return tl::unexpected(parts.error());
    out.residents.push_back(std::move(*parts));
  }
  return out;
}

void Session::progress(const std::string& phase, std::uint32_t done, std::uint32_t total) {
  SessionNews news;
  news.progress = {phase, done, total};
  // Nobody waits for progress: what does not fit into the socket now is dropped.
  std::ignore = send_packet(socket_.get(), nlohmann::json::parse(encode(news)), {},
                            std::chrono::steady_clock::now());
}

void Session::facts(const KnownTask& task) {
  const auto text = make_memory_file("facts", json_text(facts_json(task.facts)));
  const auto state = make_memory_file("state", task.initial_state);
  if (!text || !state) return;  // the next judge learns the task again
  SessionNews news;
  news.kind = SessionNews::Kind::facts;
  std::ignore =
      send_packet(socket_.get(), nlohmann::json::parse(encode(news)), {text->get(), state->get()},
                  std::chrono::steady_clock::now() + kPatience);
}

void Session::keep(HostParts parts) {
  SessionNews news;
  news.kind = SessionNews::Kind::keep;
  news.host = {std::string(name_of(parts.role)), parts.pid, parts.arena.size()};
  std::ignore =
      send_packet(socket_.get(), nlohmann::json::parse(encode(news)),
                  {parts.control.get(), parts.fate.get(), parts.pidfd.get(), parts.log.get(),
                   parts.page.descriptor().get(), parts.arena.descriptor()},
                  std::chrono::steady_clock::now() + kPatience);
}

Result<void, std::string> Session::verdict(const std::string& bytes) {
  const auto blob = make_memory_file("verdict", bytes);
  if (!blob) return tl::unexpected(blob.error());
  SessionNews news;
  news.kind = SessionNews::Kind::verdict;
  if (!send_packet(socket_.get(), nlohmann::json::parse(encode(news)), {blob->get()},
                   std::chrono::steady_clock::now() + kPatience))
    return tl::unexpected<std::string>("the worker has gone");
  return {};
}

}  // namespace swage::judge
