#include "audit/servers.h"

#include <algorithm>

namespace oncekey::audit {
namespace {

std::string with_defaults(std::string url, const Value& server) {
  const Value* variables = server.find("variables");
  if (variables == nullptr) return url;
  for (const Member& variable : variables->members) {
    const std::string placeholder = "{" + variable.name + "}";
    const std::string value = variable.value.text_at("default");
    for (std::size_t at = url.find(placeholder); at != std::string::npos;
         at = url.find(placeholder, at + value.size())) {
      url.replace(at, placeholder.size(), value);
    }
  }
  return url;
}

std::string path_of(std::string url) {
  const std::size_t authority = url.find("//");
  if (authority != std::string::npos) {
    const std::size_t slash = url.find('/', authority + 2);
    url = slash == std::string::npos ? "" : url.substr(slash);
  }
  url = url.substr(0, url.find_first_of("?#"));
  if (url.starts_with("./")) url.erase(0, 1);
  while (url.ends_with('/')) url.pop_back();
  if (url == ".") return "";
  return url.empty() || url.starts_with('/') ? url : "/" + url;
}

}  // namespace

std::vector<std::string> base_paths_of(const Value& of, std::vector<std::string> otherwise) {
  const Value* servers = of.find("servers");
  if (servers == nullptr || servers->items.empty()) return otherwise;
  std::vector<std::string> paths;
  for (const Value& server : servers->items) {
    std::string path = path_of(with_defaults(server.text_at("url"), server));
    if (std::find(paths.begin(), paths.end(), path) == paths.end())
      paths.push_back(std::move(path));
  }
  return paths;
}

}  // namespace oncekey::audit
