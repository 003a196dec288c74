// The alerts and the dashboard that ship with the program speak of figures that it really
// publishes.
#include <fstream>
#include <iterator>
#include <regex>
#include <set>

#include "e2e/gateway_fixture.h"
#include "e2e/worker_fixture.h"

namespace oncekey::test {
namespace {

std::set<std::string> names_in(const std::string& file) {
  std::ifstream stream(std::string(ONCEKEY_SOURCE_DIR) + "/packaging/monitoring/" + file);
  const std::string text{std::istreambuf_iterator<char>(stream), {}};
  static const std::regex metric("oncekey_[a-z_]+");
  std::set<std::string> names;
  for (std::sregex_iterator found(text.begin(), text.end(), metric), end; found != end; ++found) {
    std::string name = found->str();
    constexpr std::string_view bucket = "_bucket";
    if (name.ends_with(bucket)) name.resize(name.size() - bucket.size());
    names.insert(name);
  }
  return names;
}

std::string metrics_of_a_gateway() {
  ScriptedUpstream upstream;
  const std::string store = shared_postgres().fresh_database();
  migrate(store);
  GatewayProcess gateway({.upstream = upstream.url(),
                          .toml = "[[route]]\nmatch = \"POST /orders\"\n"
                                  "probe = { get = \"/orders?key={key}\", absent = 404 }\n",
                          .store = store + "+" + shared_redis().fresh_database()});
  HttpRequest order{.target = "/orders", .body = "{}"};
  order.with("Idempotency-Key", "monitoring-test-key-1");
  EXPECT_EQ(gateway.send(order).status, 201);
  EXPECT_EQ(gateway.send(order).status, 201);
  order.body = "{\"amount\":2}";
  EXPECT_EQ(gateway.send(order).status, 422);
  return gateway.admin("/metrics").body;
}

class Monitoring : public WorkerFixture {
 protected:
  std::string metrics_of_a_worker() {
    sink_settings = "[ledger]\nget = \"" + receiver_.url() + "/charges?after={after}\"\n";
    auto process = worker();
    const auto line = log_line(*process, "delivering");
    const std::string address = json_text(line.value_or(""), "/admin");
    const auto port = static_cast<std::uint16_t>(std::stoi(address.substr(address.rfind(':') + 1)));
    return exchange(port, HttpRequest{.method = "GET", .target = "/metrics"}).body;
  }
};

TEST_P(Monitoring, AlertsAndDashboardNameFiguresThatExist) {
  const std::string text = metrics_of_a_gateway() + metrics_of_a_worker();
  for (const char* file : {"oncekey.rules.yml", "oncekey-dashboard.json"}) {
    const std::set<std::string> names = names_in(file);
    EXPECT_GT(names.size(), 15u) << file;
    for (const std::string& name : names) {
      EXPECT_NE(text.find("# TYPE " + name + " "), std::string::npos)
          << file << " speaks of " << name << ", which nobody publishes";
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Databases, Monitoring, testing::Values(OutboxKind::postgres),
                         [](const auto& kind) { return name_of(kind.param); });

}  // namespace
}  // namespace oncekey::test
