#include "common/config/yaml.hpp"

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/yaml.h>

#include <charconv>
#include <cmath>
#include <sstream>
#include <utility>

namespace swage {
namespace {

constexpr int kMaxNodes = 10000;

/// Reads events only, to refuse what has no end before a tree of it is built: of some malformed
/// texts (`!#,`) yaml-cpp makes empty documents for ever.
class Counter : public YAML::EventHandler {
 public:
  void OnDocumentStart(const YAML::Mark& mark) override { count(mark); }
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark& mark, YAML::anchor_t) override { count(mark); }
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t) override { count(mark); }
  void OnScalar(const YAML::Mark& mark, const std::string&, YAML::anchor_t,
                const std::string&) override {
    count(mark);
  }
  void OnSequenceStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t,
                       YAML::EmitterStyle::value) override {
    count(mark);
  }
  void OnSequenceEnd() override {}
  void OnMapStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t,
                  YAML::EmitterStyle::value) override {
    count(mark);
  }
  void OnMapEnd() override {}

 private:
  void count(const YAML::Mark& mark) {
    if (++events_ > 2 * kMaxNodes)
      throw YAML::ParserException(mark, "it has too many nodes (10,000 at most)");
  }
  int events_ = 0;
};

/// Throws what yaml-cpp throws.
void check_finite(const std::string& text) {
  std::istringstream stream(text);
  YAML::Parser parser(stream);
  Counter counter;
  while (parser.HandleNextDocument(counter)) {
  }
}

/// Turns YAML nodes into JSON and remembers where each came from.
class Converter {
 public:
  Converter(std::string file, YamlDocument& out) : file_(std::move(file)), out_(out) {}

  nlohmann::json convert(const YAML::Node& node, const std::string& path) {
    if (++nodes_ > kMaxNodes) {
      if (nodes_ == kMaxNodes + 1) fail(node, path, "has too many nodes (10,000 at most)");
      return nullptr;
    }
    out_.lines.emplace(path, node.Mark().line + 1);
    switch (node.Type()) {
      case YAML::NodeType::Map:
        return map(node, path);
      case YAML::NodeType::Sequence:
        return sequence(node, path);
      case YAML::NodeType::Scalar:
        return scalar(node);
      default:
        return nullptr;
    }
  }

  std::vector<std::string> complaints;

 private:
  nlohmann::json map(const YAML::Node& node, const std::string& path) {
    auto object = nlohmann::json::object();
    for (const auto& entry : node) {
      if (!entry.first.IsScalar()) {
        fail(entry.first, path, "has a key that is not a plain word");
        continue;
      }
      const auto& key = entry.first.Scalar();
      std::string at = path;
      if (!at.empty()) at += '.';
      at += key;
      if (object.contains(key)) {
        fail(entry.first, at, "stands twice");
        continue;
      }
      object[key] = convert(entry.second, at);
      out_.lines[at] = entry.first.Mark().line + 1;
    }
    return object;
  }

  nlohmann::json sequence(const YAML::Node& node, const std::string& path) {
    auto array = nlohmann::json::array();
    for (std::size_t i = 0; i < node.size(); ++i)
      array.push_back(convert(node[i], path + "[" + std::to_string(i) + "]"));
    return array;
  }

  static nlohmann::json scalar(const YAML::Node& node) {
    const auto& text = node.Scalar();
    if (node.Tag() == "!") return text;  // quoted
    if (text == "true" || text == "True" || text == "TRUE") return true;
    if (text == "false" || text == "False" || text == "FALSE") return false;
    if (text.empty() || text == "null" || text == "Null" || text == "NULL" || text == "~")
      return nullptr;
    const auto* const end = text.data() + text.size();
    std::int64_t integer = 0;
    if (auto [at, e] = std::from_chars(text.data(), end, integer); e == std::errc() && at == end)
      return integer;
    double number = 0;
    if (auto [at, e] = std::from_chars(text.data(), end, number);
        e == std::errc() && at == end && std::isfinite(number))
      return number;
    return text;
  }

  void fail(const YAML::Node& node, const std::string& path, const std::string& what) {
    complaints.push_back(file_ + ":" + std::to_string(node.Mark().line + 1) + ": " +
                         (path.empty() ? "document" : path) + " " + what);
  }

  std::string file_;
  YamlDocument& out_;
  int nodes_ = 0;
};

}  // namespace

int YamlDocument::line_of(const std::string& path) const {
  std::string at = path;
  while (true) {
    if (const auto found = lines.find(at); found != lines.end()) return found->second;
    const auto cut = at.find_last_of(".[");
    if (cut == std::string::npos) return line;
    at.resize(cut);
  }
}

Result<std::vector<YamlDocument>, ConfigError> parse_yaml(std::string_view text,
                                                          const std::string& file) {
  std::vector<YamlDocument> out;
  ConfigError error;
  try {
    check_finite(std::string(text));
    for (const auto& node : YAML::LoadAll(std::string(text))) {
      if (!node || node.IsNull()) continue;
      YamlDocument document;
      document.line = node.Mark().line + 1;
      Converter converter(file, document);
      document.value = converter.convert(node, "");
      error.complaints.insert(error.complaints.end(), converter.complaints.begin(),
                              converter.complaints.end());
      out.push_back(std::move(document));
    }
  } catch (const YAML::Exception& e) {
    error.complaints.push_back(file + ":" + std::to_string(e.mark.line + 1) +
                               ": not YAML: " + e.msg);
  }
  if (!error.complaints.empty()) return tl::unexpected(std::move(error));
  return out;
}

}  // namespace swage
