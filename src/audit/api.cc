#include "audit/api.h"

#include <algorithm>
#include <array>

#include "audit/parameters.h"
#include "audit/references.h"
#include "audit/servers.h"

namespace oncekey::audit {
namespace {

// As a path item names them. The others (get, head, options, trace) change nothing.
constexpr std::array<std::string_view, 4> changing_methods = {"post", "patch", "put", "delete"};

std::string upper(std::string_view text) {
  std::string out(text);
  for (char& c : out) c = c >= 'a' && c <= 'z' ? static_cast<char>(c - 32) : c;
  return out;
}

class Reader {
 public:
  Reader(const Value& root, Api& api, Problems& problems)
      : root_(root), api_(api), problems_(problems), references_(root, problems) {}

  void read() {
    if (!has_known_version()) return;
    api_.title = info_title();
    servers_ = base_paths_of(root_, {""});
    const Value* paths = root_.find("paths");
    if (paths != nullptr && !paths->is_object()) {
      problem(*paths, "paths: an object with a member for each path was expected");
    } else if (paths != nullptr) {
      for (const Member& path : paths->members) read_path(path);
    } else if (api_.version.starts_with("3.0")) {
      problem(root_, "paths is missing");
    }
    if (const Value* webhooks = root_.find("webhooks")) {
      api_.webhooks = static_cast<int>(webhooks->members.size());
    }
  }

 private:
  void problem(const Value& at, std::string message) {
    problems_.push_back({at.at, std::move(message)});
  }

  bool has_known_version() {
    api_.version = root_.text_at("openapi");
    if (api_.version.starts_with("3.0") || api_.version.starts_with("3.1")) return true;
    if (!root_.is_object()) {
      problem(root_, "is no OpenAPI document: an object was expected");
    } else if (root_.find("swagger") != nullptr) {
      problem(*root_.find("swagger"), "Swagger " + root_.text_at("swagger") +
                                          " is not read; convert the document to OpenAPI 3");
    } else if (const Value* version = root_.find("openapi")) {
      problem(*version, "OpenAPI " + api_.version + " is not read; 3.0 and 3.1 are");
    } else {
      problem(root_, "is no OpenAPI document: it has no member openapi, such as \"3.1.0\"");
    }
    return false;
  }

  std::string info_title() const {
    const Value* info = root_.find("info");
    return info == nullptr ? "" : info->text_at("title");
  }

  void read_path(const Member& path) {
    if (path.name.starts_with("x-")) return;
    if (!path.name.starts_with('/')) {
      problems_.push_back({path.at, "a path begins with /: \"" + path.name + "\""});
      return;
    }
    const Value* item = references_.follow(path.value);
    if (item == nullptr) return;
    if (!item->is_object()) {
      problem(*item, path.name + ": an object with a member for each method was expected");
      return;
    }
    read_item(path.name, *item, path.value);
    // In 3.1, operations may stand beside a $ref.
    if (item != &path.value) read_item(path.name, path.value, path.value);
  }

  void read_item(const std::string& path, const Value& item, const Value& place) {
    for (const Member& member : item.members) {
      const bool changing = std::find(changing_methods.begin(), changing_methods.end(),
                                      member.name) != changing_methods.end();
      if (member.value.is_object()) count_callbacks(member.value);
      if (!changing) continue;
      if (!member.value.is_object()) {
        problem(member.value, path + " " + member.name + ": an object was expected");
        continue;
      }
      read_operation(path, member, item, &item == &place);
    }
  }

  void read_operation(const std::string& path, const Member& member, const Value& item,
                      bool in_place) {
    Operation operation;
    operation.method = upper(member.name);
    operation.path = path;
    operation.id = member.value.text_at("operationId");
    operation.at = member.at;
    operation.base_paths = base_paths_of(member.value, base_paths_of(item, servers_));
    const ParameterReader parameters(references_, problems_);
    parameters.read(item, operation);
    parameters.read(member.value, operation);
    make_up_missing(operation);
    read_links(member.value, operation);
    const auto same = [&](const Operation& other) { return other.name() == operation.name(); };
    const auto found = std::find_if(api_.operations.begin(), api_.operations.end(), same);
    if (in_place && found != api_.operations.end()) {
      *found = std::move(operation);  // what stands beside a $ref goes before what it leads to
    } else {
      api_.operations.push_back(std::move(operation));
    }
  }

  void count_callbacks(const Value& operation) {
    if (const Value* callbacks = operation.find("callbacks")) {
      api_.callbacks += static_cast<int>(callbacks->members.size());
    }
  }

  void read_links(const Value& operation, Operation& into) {
    const Value* responses = operation.find("responses");
    if (responses == nullptr) return;
    for (const Member& response : responses->members) {
      const Value* answer = references_.follow(response.value);
      const Value* links = answer == nullptr ? nullptr : answer->find("links");
      if (links == nullptr) continue;
      for (const Member& each : links->members) {
        if (const Value* link = references_.follow(each.value)) read_link(each.name, *link, into);
      }
    }
  }

  // #/paths/~1payments~1{id}~1capture/post, or an operationId.
  static void read_link(const std::string& name, const Value& link, Operation& into) {
    Link out;
    out.name = name;
    out.operation_id = link.text_at("operationId");
    const std::string reference = link.text_at("operationRef");
    constexpr std::string_view start = "#/paths/";
    const std::size_t slash = reference.rfind('/');
    if (reference.starts_with(start) && slash > start.size()) {
      out.path = pointer_token(reference.substr(start.size(), slash - start.size()));
      out.method = upper(reference.substr(slash + 1));
    }
    if (!out.path.empty() || !out.operation_id.empty()) into.links.push_back(std::move(out));
  }

  const Value& root_;
  Api& api_;
  Problems& problems_;
  const References references_;
  std::vector<std::string> servers_;
};

}  // namespace

Result<Api, Problems> read_api(std::string_view text, const std::string& file) {
  const auto root = read_value(text);
  if (!root) return Problems{root.error()};
  Api api;
  api.file = file;
  Problems problems;
  Reader(*root, api, problems).read();
  if (!problems.empty()) return problems;
  return api;
}

}  // namespace oncekey::audit
