#include "gateway/tenant_files.h"

#include <stdexcept>

#include "gateway/context.h"
#include "gateway/log.h"

namespace oncekey::gateway {
namespace {

// `what` is the setting that names the file.
template <class Content>
std::unique_ptr<identity::WatchedFile<Content>> watch(
    const std::string& path, const char* what, typename identity::WatchedFile<Content>::Read read,
    Log* log) {
  const auto report = [log, what](const identity::FileNews& news) {
    if (log == nullptr) return;
    if (news.problem.empty()) {
      log->event(LogLevel::info, "keys_reloaded",
                 {{"setting", std::string_view(what)}, {"file", news.path}});
    } else {
      log->event(LogLevel::error, "keys_not_reloaded",
                 {{"setting", std::string_view(what)},
                  {"file", news.path},
                  {"reason", std::string_view(news.problem)}});
    }
  };
  try {
    return std::make_unique<identity::WatchedFile<Content>>(path, std::move(read), report,
                                                            wall_now_ms());
  } catch (const std::runtime_error& problem) {
    throw std::runtime_error(std::string(what) + ": " + problem.what());
  }
}

}  // namespace

std::shared_ptr<TenantFiles> open_tenant_files(const TenantConfig& config, Log* log) {
  auto files = std::make_shared<TenantFiles>();
  if (config.from == TenantFrom::jwt) {
    const auto read = [algorithms = config.token.algorithms](std::string_view bytes) {
      return identity::read_key_set(bytes, algorithms);
    };
    files->token_keys = watch<identity::KeySet>(config.keys, "tenant.keys", read, log);
  }
  if (config.from == TenantFrom::api_key && !config.api_keys_file.empty()) {
    files->api_keys =
        watch<ApiKeys>(config.api_keys_file, "tenant.api_keys_file", ApiKeys::read, log);
  }
  return files;
}

}  // namespace oncekey::gateway
