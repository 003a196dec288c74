#include "gateway/reloader.h"

#include "gateway/context.h"
#include "gateway/metric_text.h"

namespace oncekey::gateway {

ReloadOutcome Reloader::reload(std::string_view asked_by) {
  std::lock_guard lock(reloading_);
  parts_.begun();
  Result<LoadedConfig, std::string> loaded = parts_.load();
  ReloadOutcome outcome = std::string();
  if (loaded) {
    outcome = parts_.apply(loaded->config);
  } else {
    outcome = loaded.error();
  }
  if (outcome) {
    for (const ConfigError& warning : loaded->warnings) {
      const std::string text = to_string(warning);
      parts_.log.event(LogLevel::warn, "configuration", {{"warning", std::string_view(text)}});
    }
  }
  report(asked_by, outcome);
  parts_.ended(outcome);
  return outcome;
}

void Reloader::report(std::string_view asked_by, const ReloadOutcome& outcome) {
  {
    std::lock_guard lock(mutex_);
    status_.last_at = wall_now_ms();
    status_.refusal = outcome ? "" : outcome.error();
    if (outcome) status_.changed = outcome->changed;
    ++(outcome ? status_.applied : status_.refused);
  }
  if (!outcome) {
    parts_.log.event(LogLevel::error, "reload_refused",
                     {{"asked_by", asked_by}, {"reason", std::string_view(outcome.error())}});
    return;
  }
  std::string changed;
  for (const std::string& name : outcome->changed) {
    changed.append(changed.empty() ? "" : "; ").append(name);
  }
  if (changed.empty()) changed = "nothing";
  parts_.log.event(LogLevel::info, "reloaded",
                   {{"asked_by", asked_by}, {"changed", std::string_view(changed)}});
}

ReloadStatus Reloader::status() const {
  std::lock_guard lock(mutex_);
  return status_;
}

void Reloader::append_metrics(std::string& out) const {
  const ReloadStatus now = status();
  constexpr std::string_view total = "oncekey_config_reloads_total";
  append_figure_head(out, total, "counter", "Reloads of the configuration, by their result");
  append_figure_value(out, total, "{result=\"applied\"}", now.applied);
  append_figure_value(out, total, "{result=\"refused\"}", now.refused);
  append_figure(out, "oncekey_config_last_reload_successful", "gauge",
                "1: the configuration in force is the one that was last asked for",
                now.refusal.empty() ? 1 : 0);
}

}  // namespace oncekey::gateway
