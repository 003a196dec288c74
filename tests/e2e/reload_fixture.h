// A gateway whose whole configuration is in a file that tests write anew.
#pragma once

#include <signal.h>

#include "e2e/gateway_fixture.h"

namespace oncekey::test {

// `key`: the header of the key; `page`: what errors link to; `base`: where the upstream's paths
// begin. Three marks by which an answer tells the configuration that it was made by.
struct Marks {
  std::string key = "Idempotency-Key";
  std::string page = "https://a.example/policy";
  std::string base = "/a";
};
inline const Marks marks_a;
inline const Marks marks_b{"X-Idempotency-Key", "https://b.example/policy", "/b"};

class ReloadFixture : public GatewayFixture {
 protected:
  // `before` comes before the first table, `after` at the end.
  std::string config(const Marks& marks, const std::string& upstream,
                     const std::string& before = "", const std::string& after = "") {
    return "listen = \"127.0.0.1:0\"\nadmin = \"127.0.0.1:0\"\nstore = \"" + store() +
           "\"\nupstream = \"" + upstream + marks.base + "\"\npolicy_url = \"" + marks.page +
           "\"\n" + before + "\n[[route]]\nmatch = \"POST /orders\"\nkey_header = \"" + marks.key +
           "\"\n" + after;
  }
  std::string config_a(const std::string& before = "", const std::string& after = "") {
    return config(marks_a, upstream_.url(), before, after);
  }
  std::string config_b(const std::string& before = "", const std::string& after = "") {
    return config(marks_b, other_upstream_.url(), before, after);
  }

  void serve_file(const std::string& text, std::vector<std::string> launcher = {}) {
    gateway_ = std::make_unique<GatewayProcess>(
        GatewayProcess::Options{.toml = text, .whole_file = true, .launcher = std::move(launcher)});
  }

  std::string write(const std::string& text) {
    return gateway_->folder().write("oncekey.toml", text);
  }

  double reloads(const std::string& result) {
    return gateway_->metric("oncekey_config_reloads_total", "result=\"" + result + "\"");
  }

  // Returns when the file is in force.
  void reload(const std::string& text) {
    const double before = reloads("applied");
    write(text);
    gateway_->process().signal(SIGHUP);
    ASSERT_TRUE(eventually([&] { return reloads("applied") > before; }))
        << gateway_->process().output();
  }

  // The reason why it is not, from the log, which has it after the figures do.
  std::string refused_reload(const std::string& text) {
    const std::size_t before = refusals().size();
    write(text);
    gateway_->process().signal(SIGHUP);
    std::vector<std::string> reasons;
    EXPECT_TRUE(eventually([&] { return (reasons = refusals()).size() > before; }))
        << gateway_->process().output();
    return reasons.empty() ? "" : reasons.back();
  }

  // A request that both configurations take, and whose answer is the request as the upstream had
  // it.
  static HttpRequest marked_order(const std::string& key, const std::string& behaviour = "echo") {
    HttpRequest request{.body = "{\"amount\":1}"};
    request.with("Content-Type", "application/json").with(std::string(behaviour_header), behaviour);
    if (!key.empty()) request.with(marks_a.key, key).with(marks_b.key, key);
    return request;
  }

  ScriptedUpstream other_upstream_;

 private:
  std::string store() { return "rocksdb:" + (data_.path() / "data").string(); }

  std::vector<std::string> refusals() {
    std::vector<std::string> reasons;
    for (const std::string& line : gateway_->process().lines()) {
      if (json_text(line, "/event") == "reload_refused") {
        reasons.push_back(json_text(line, "/reason"));
      }
    }
    return reasons;
  }

  TemporaryFolder data_;
};

}  // namespace oncekey::test
