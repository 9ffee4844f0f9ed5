#pragma once

#include <string>
#include <vector>

#include "common/redis/client.hpp"
#include "gpu_pool/lease/core/records.hpp"
#include "tests/support/task_runner.hpp"

namespace swage::lease::test {

/// Reads a pool's keys out of Redis into the form that the core machine keeps.
QueueState read_state(swage::test::TaskRunner& run, RedisClient& redis, const std::string& pool);

/// Sets the server's clock (TIME + skew) of a pool forward.
void jump(swage::test::TaskRunner& run, RedisClient& redis, const std::string& pool, Micros by);

/// One command with ten seconds to answer; throws when it fails.
RedisValue ask(swage::test::TaskRunner& run, RedisClient& redis, std::vector<std::string> words);

}  // namespace swage::lease::test
