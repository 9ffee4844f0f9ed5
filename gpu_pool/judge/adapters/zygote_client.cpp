#include "gpu_pool/judge/adapters/zygote_client.hpp"

namespace swage::judge {

Result<HostParts, std::string> ZygoteClient::spawn(const HostOrder& order) {
  const nlohmann::json message{{"op", "spawn"},
                               {"role", std::string(name_of(order.role))},
                               {"workspace", order.workspace},
                               {"device", order.device},
                               {"cpus", order.cpus},
                               {"memory_bytes", order.memory_bytes},
                               {"without", order.without}};
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  if (!send_packet(socket_.get(), message, {}, deadline))
    return tl::unexpected<std::string>("the zygote has gone");
  auto reply = receive_packet(socket_.get(), deadline);
  if (!reply) return tl::unexpected<std::string>("the zygote does not answer");
  if (!reply->message.value("ok", false) || reply->descriptors.size() != 4)
    return tl::unexpected<std::string>("the zygote cannot make a host: " +
                                       reply->message.value("error", "?"));
  HostParts parts;
  parts.role = order.role;
  parts.pid = reply->message["pid"].get<pid_t>();
  parts.control = std::move(reply->descriptors[0]);
  parts.fate = std::move(reply->descriptors[1]);
  parts.pidfd = std::move(reply->descriptors[2]);
  parts.log = std::move(reply->descriptors[3]);
  return parts;
}

}  // namespace swage::judge
