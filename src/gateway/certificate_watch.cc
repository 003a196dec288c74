#include "gateway/certificate_watch.h"

#include "http/tls_context.h"

namespace oncekey::gateway {
namespace {

constexpr auto look_every = std::chrono::seconds(1);

}  // namespace

CertificateWatch::CertificateWatch(const Generations& generations, Log& log)
    : generations_(generations), log_(log), role_(look_every, [this] {
        look();
        return false;
      }) {
  const auto& tls = generations_.current().server_options().tls;
  if (!tls) return;
  const std::string certificate = tls->describe();
  const bool over = tls->expired();
  log_.event(over ? LogLevel::warn : LogLevel::info, over ? "certificate_over" : "certificate",
             {{"certificate", std::string_view(certificate)}});
}

void CertificateWatch::look() {
  const auto& tls = generations_.current().server_options().tls;
  if (!tls || !tls->files_changed()) return;
  const std::string problem = tls->reload();
  if (!problem.empty()) {
    log_.event(
        LogLevel::error, "certificate_refused",
        {{"reason", std::string_view(problem)}, {"in_use", std::string_view(tls->describe())}});
    return;
  }
  const std::string certificate = tls->describe();
  log_.event(LogLevel::info, "certificate_reloaded",
             {{"certificate", std::string_view(certificate)}});
}

}  // namespace oncekey::gateway
