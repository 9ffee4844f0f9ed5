#pragma once

#include <condition_variable>
#include <functional>
#include <map>
#include <mutex>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <vector>

#include "tests/support/fake_api_server.hpp"

namespace swage::test {

/// Pods of one namespace behind a FakeApiServer, with a kubelet that plays them: list, watch,
/// create, get, merge patch and delete with preconditions, as the real server answers.
/// Threads: the server's, and one of its own. Life: stop() before the server goes.
class FakePods {
 public:
  using Json = nlohmann::json;
  /// What the kubelet makes of a new pod: changes its status, once or more often; each change is
  /// an event of the watch.
  using Kubelet = std::function<std::vector<Json>(const Json& pod)>;

  FakePods(FakeApiServer& server, std::string name_space, Kubelet kubelet);
  ~FakePods() { stop(); }
  FakePods(const FakePods&) = delete;
  FakePods& operator=(const FakePods&) = delete;

  /// Takes the pod away without being asked, as a drained node does.
  void evict(const std::string& name);
  /// Changes a pod's status from outside.
  void set_status(const std::string& name, const Json& status);
  Json pod(const std::string& name);  ///< null: there is none
  std::size_t size();
  /// The next create is executed, and its answer lost.
  void lose_next_answer() { lose_answer_ = true; }
  /// What every create is refused with; empty: nothing.
  void refuse_creates(const std::string& message);
  /// Ends every watch, as a server that goes down; new ones are served.
  void cut_watches();
  /// A pod whose grace runs on until it is over.
  static Json stubborn(Json pod);
  void stop();

  // Statuses that kubelets write.
  static Json running();
  static Json ready();
  static Json ended(int exit_code);
  static Json waiting(const std::string& reason, const std::string& message);

 private:
  void collection(FakeExchange& exchange);
  void one(FakeExchange& exchange, const std::string& name);
  void create(FakeExchange& exchange);
  void patch(FakeExchange& exchange, const std::string& name);
  void remove(FakeExchange& exchange, const std::string& name);
  void watch(FakeExchange& exchange);
  void change(const std::string& type, const std::string& name, const Json& pod);  // locked
  void kubelet_loop();
  static FakeApiServer::Script status(int code, const std::string& reason,
                                      const std::string& message);

  FakeApiServer& server_;
  std::string name_space_, path_;
  Kubelet kubelet_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<std::string, Json> pods_;
  std::vector<std::pair<std::uint64_t, std::string>> log_;
  std::map<std::string, std::chrono::steady_clock::time_point> going_;
  std::string refusal_;
  std::uint64_t version_ = 100;
  int uids_ = 0, cuts_ = 0;
  std::atomic<bool> lose_answer_ = false;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace swage::test
