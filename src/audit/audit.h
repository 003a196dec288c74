// Which operations of an API may run twice: what the document declares, what a gateway's
// configuration does, and what the API itself answers to a request without a key.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "audit/api.h"
#include "audit/ask.h"
#include "audit/coverage.h"
#include "audit/flows.h"
#include "gateway/route_pattern.h"
#include "verify/verdict.h"

namespace oncekey::audit {

using verify::Finding;
using verify::Verdict;

struct Settings {
  // Under which names a document may declare the key; the first is the one for new routes.
  std::vector<std::string> key_headers = {"Idempotency-Key", "X-Idempotency-Key"};
  std::vector<std::string> methods = {"POST", "PATCH"};  // that need a key
  std::vector<gateway::RoutePattern> exceptions;         // operations that need none, as told
  std::vector<std::string> base_paths;                   // instead of the document's servers'
  bool strict = false;                                   // a warning counts as a gap
};

enum class Declared { no, optional, required };
std::string_view to_string(Declared declared);

struct OperationResult {
  Operation operation;
  bool needs_key = true;
  bool excepted = false;
  Declared declared = Declared::no;
  std::string declared_name;             // as the document writes it
  std::optional<Protection> protection;  // nothing: no configuration was given
  std::optional<Asked> asked;            // nothing: it was not asked
  Finding finding;

  bool wants_route() const;  // a gap that a route in the configuration would close
};

struct Report {
  std::string file;
  std::string version;
  std::string title;
  std::string config_file;  // "": none was given
  std::string url;          // "": nothing was asked
  std::string started;      // RFC 3339
  std::vector<OperationResult> results;
  std::vector<Flow> flows;
  std::vector<std::string> notes;
  std::string routes;  // [[route]] blocks that would close the gaps; "": none is missing

  int count(Verdict verdict) const;
  std::string conclusion() const;
};

// The results without the answers of an API.
std::vector<OperationResult> results_of(const Api& api, const Settings& settings,
                                        const gateway::RouteTable* routes);

// The finding of each, from all that is known about it.
void judge(std::vector<OperationResult>& results, const Settings& settings);

std::string to_text(const Report& report, bool colour);
std::string to_json(const Report& report);
std::string to_junit(const Report& report);

}  // namespace oncekey::audit
