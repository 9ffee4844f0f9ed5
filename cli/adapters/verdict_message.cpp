#include "cli/adapters/verdict_message.hpp"

#include "common/view/trajectory_json.hpp"

namespace swage::cli {

nlohmann::json verdict_from_bytes(const std::string& bytes) {
  v1::Verdict verdict;
  if (!verdict.ParseFromString(bytes)) return nullptr;
  return verdict_json(verdict);
}

}  // namespace swage::cli
