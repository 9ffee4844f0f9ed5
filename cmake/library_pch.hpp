// What most libraries include of others. Only headers that are not ours: these never change.
#pragma once
// clang-format off: Boost 1.74 forgets <utility>, so it must come before.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <deque>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <span>
#include <sstream>
#include <string>
#include <string_view>
#include <thread>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>
#include <boost/asio.hpp>
#include <google/protobuf/message.h>
#include <grpcpp/grpcpp.h>
#include <nlohmann/json.hpp>
#include <tl/expected.hpp>
// clang-format on
