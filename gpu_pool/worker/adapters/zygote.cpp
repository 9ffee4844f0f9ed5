#include "gpu_pool/worker/adapters/zygote.hpp"

#include <csignal>
#include <nlohmann/json.hpp>

#include "common/base/json_text.hpp"

namespace swage::worker {
namespace {

using nlohmann::json;

ProcessSpec zygote_spec(const JudgeRunnerSettings& settings, const std::filesystem::path& root,
                        int socket) {
  const auto& folder = settings.model_host_directory;
  ProcessSpec spec;
  spec.argv = {settings.python,         "-I", "-S", "-B", folder / "zygote_main.py", root,
               settings.cache_directory};
  spec.env = {{"PATH", "/usr/local/bin:/usr/bin:/bin"}, {"LANG", "C.UTF-8"}};
  if (!settings.log.empty()) spec.log = settings.log;
  spec.descriptors = {{3, socket}};
  return spec;
}

}  // namespace

Zygote::Zygote(asio::any_io_executor strand, Descriptor socket, std::unique_ptr<Process> process)
    : strand_(strand),
      socket_(std::move(strand), std::move(socket)),
      process_(std::move(process)) {}

Task<Result<std::unique_ptr<Zygote>, std::string>> Zygote::start(asio::any_io_executor strand,
                                                                 JudgeRunnerSettings settings,
                                                                 std::filesystem::path root,
                                                                 StopSource& stop) {
  using Outcome = Result<std::unique_ptr<Zygote>, std::string>;
  auto ends = make_packet_pair();
  if (!ends) co_return Outcome(tl::unexpected<std::string>("no socket pair"));
  const auto spec = zygote_spec(settings, root, ends->second.get());
  auto process = Process::start(strand, spec);
  if (!process) co_return Outcome(tl::unexpected(process.error().message));
  ends->second.reset(-1);
  std::unique_ptr<Zygote> zygote(new Zygote(strand, std::move(ends->first), std::move(*process)));
  const auto warm = co_await zygote->wait_until_warm(stop);
  if (!warm) co_return Outcome(tl::unexpected(warm.error()));
  co_return Outcome(std::move(zygote));
}

Task<Result<void, std::string>> Zygote::wait_until_warm(StopSource& stop) {
  using Outcome = Result<void, std::string>;
  if (stop.stopping()) co_return Outcome(tl::unexpected<std::string>("stopping"));
  const auto hook = stop.on_stop([this] { process_->signal(SIGKILL, true); });
  const auto packet = co_await socket_.read();
  if (!packet) {
    const int status = co_await process_->wait();
    co_return Outcome(tl::unexpected("the model hosts do not start (" + describe_status(status) +
                                     "): is torch installed for this python? Its log says more"));
  }
  const auto ready = json::parse(packet->text, nullptr, false);
  if (!ready.is_object()) co_return Outcome(tl::unexpected<std::string>("unreadable greeting"));
  torch_ = ready.value("torch", "");
  missing_ = ready.value("missing", std::vector<std::string>());
  co_return Outcome();
}

Task<Descriptor> Zygote::new_client() {
  const std::string ask = json_text(json{{"op", "client"}});
  if (!socket_.write(ask)) co_return Descriptor();
  auto packet = co_await socket_.read();
  if (!packet || packet->descriptors.size() != 1) co_return Descriptor();
  co_return std::move(packet->descriptors.front());
}

Task<bool> Zygote::clear(std::vector<std::int64_t> keep) {
  const std::string ask = json_text(json{{"op", "clear"}, {"keep", keep}});
  if (!socket_.write(ask)) co_return false;
  const auto packet = co_await socket_.read();
  co_return packet.has_value();
}

Task<> Zygote::shut_down() {
  socket_.close();
  co_await process_->wait();
}

}  // namespace swage::worker
