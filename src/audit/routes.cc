#include "audit/routes.h"

#include <algorithm>

#include "audit/path_template.h"
#include "gateway/route_table.h"
#include "http/field.h"

namespace oncekey::audit {
namespace {

struct Block {
  std::string path;
  std::vector<std::string> methods;
  std::string key_header;
  bool off = false;

  bool is_open() const { return path.ends_with('*'); }
};

std::string match_of(const Block& block) {
  std::string methods;
  for (const std::string& method : block.methods) methods += (methods.empty() ? "" : ",") + method;
  return methods + " " + block.path;
}

std::size_t wildcards(const Block& block) {
  return static_cast<std::size_t>(std::count(block.path.begin(), block.path.end(), '*'));
}

// First match wins, so what another block covers stands before it.
bool goes_before(const Block& a, const Block& b) {
  if (a.is_open() != b.is_open()) return b.is_open();
  const std::size_t depth_a = segments_of(a.path).size();
  const std::size_t depth_b = segments_of(b.path).size();
  if (depth_a != depth_b) return depth_a > depth_b;
  return wildcards(a) < wildcards(b);
}

class Gathering {
 public:
  explicit Gathering(const Settings& settings) : settings_(settings) {}

  void add(const OperationResult& result, bool off) {
    const Operation& operation = result.operation;
    for (const std::string& base :
         settings_.base_paths.empty() ? operation.base_paths : settings_.base_paths) {
      const std::string header =
          result.declared == Declared::no ? settings_.key_headers.front() : result.declared_name;
      Block& block = block_for(as_route_path(base + operation.path), header, off);
      if (std::find(block.methods.begin(), block.methods.end(), operation.method) ==
          block.methods.end()) {
        block.methods.push_back(operation.method);
      }
    }
  }

  bool catches(const Operation& operation, const std::string& base) const {
    const std::string path = as_route_path(base + operation.path);
    return std::any_of(blocks_.begin(), blocks_.end(), [&](const Block& block) {
      return std::find(block.methods.begin(), block.methods.end(), operation.method) !=
                 block.methods.end() &&
             gateway::covers_path(block.path, path);
    });
  }

  std::string text() {
    std::stable_sort(blocks_.begin(), blocks_.end(), goes_before);
    std::string out;
    for (const Block& block : blocks_) out += (out.empty() ? "" : "\n") + text_of(block);
    return out;
  }

 private:
  Block& block_for(const std::string& path, const std::string& header, bool off) {
    for (Block& block : blocks_) {
      const bool same = block.path == path && block.off == off &&
                        http::equals_ignoring_case(block.key_header, header);
      if (same) return block;
    }
    blocks_.push_back({path, {}, header, off});
    return blocks_.back();
  }

  static std::string text_of(const Block& block) {
    const std::string match = match_of(block);
    const auto pattern = gateway::parse_route_pattern(match);
    if (!pattern || match.find_first_of("\"\\") != std::string::npos) {
      return "# " + match + ": no route can be written for this path; protect a shorter one.\n";
    }
    std::string text = "[[route]]\nmatch = \"" + match + "\"\n";
    text += block.off ? "key = \"off\"\n" : "key = \"required\"\n";
    const bool usual =
        http::equals_ignoring_case(block.key_header, gateway::default_route().key_header);
    if (!block.off && !usual) text += "key_header = \"" + block.key_header + "\"\n";
    return text;
  }

  const Settings& settings_;
  std::vector<Block> blocks_;
};

}  // namespace

std::string missing_routes(const std::vector<OperationResult>& results, const Settings& settings,
                           bool without_routes) {
  Gathering needed(settings);
  bool any = false;
  for (const OperationResult& result : results) {
    if (!result.wants_route()) continue;
    needed.add(result, false);
    any = true;
  }
  if (!any) return "";
  // A route for /items/{id} ends in *, and would ask for a key at /items/search as well.
  Gathering all = needed;
  for (const OperationResult& result : results) {
    if (!result.excepted) continue;
    const std::string base = settings.base_paths.empty() ? result.operation.base_paths.front()
                                                         : settings.base_paths.front();
    if (needed.catches(result.operation, base)) all.add(result, true);
  }
  std::string text = all.text();
  if (without_routes) text += "\n[[route]]\nmatch = \"" + gateway::default_route().match + "\"\n";
  return text;
}

}  // namespace oncekey::audit
