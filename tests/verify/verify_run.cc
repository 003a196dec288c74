#include "verify/verify_run.h"

#include "support/gateway_process.h"
#include "support/json_text.h"
#include "support/process.h"

namespace oncekey::test {

std::string VerifyRun::with(const std::string& verdict) const {
  std::string ids;
  for (const auto& [id, found] : verdicts) {
    if (found == verdict) ids += (ids.empty() ? "" : " ") + id;
  }
  return ids;
}

VerifyRun verify_with(const std::vector<std::string>& words) {
  std::vector<std::string> command = {oncekey_binary(), "verify"};
  command.insert(command.end(), words.begin(), words.end());
  Process process(command);
  VerifyRun run;
  const auto line = process.wait_for_line(
      [](const std::string& text) { return text.starts_with('{'); }, Milliseconds(120'000));
  run.exit_code = process.wait().value_or(-1);
  run.output = process.output();
  run.json = line.value_or("");
  run.requests = std::atoi(json_text(run.json, "/requests").c_str());
  for (int i = 0;; ++i) {
    const std::string place = "/checks/" + std::to_string(i);
    const std::string id = json_text(run.json, place + "/id");
    if (id.empty()) return run;
    run.verdicts[id] = json_text(run.json, place + "/verdict");
  }
}

VerifyRun verify_orders(const std::string& url, const std::vector<std::string>& more) {
  std::vector<std::string> words = {url + "/orders",
                                    "--json",
                                    "--body",
                                    R"({"item":"espresso","quantity":2,"reference":"{{uuid}}"})",
                                    "--tenant=X-Tenant: red",
                                    "--other-tenant=X-Tenant: blue",
                                    "--effects=/count",
                                    "--effects-pointer=/orders",
                                    "--id-pointer=/id",
                                    "--slow-header=X-Shop-Slow: 700",
                                    "--fail-header=X-Shop-Fail: 500",
                                    "--other-path=/baskets",
                                    "--slow",
                                    "--risky",
                                    "--later=400ms"};
  words.insert(words.end(), more.begin(), more.end());
  return verify_with(words);
}

}  // namespace oncekey::test
