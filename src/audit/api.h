// What an OpenAPI document (3.0 or 3.1) says about the operations that change something.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "audit/value.h"

namespace oncekey::audit {

struct HeaderParameter {
  std::string name;
  bool required = false;
};

// A part of the URL: of the path, or of the query where it must be there.
struct UrlParameter {
  std::string name;
  bool in_path = false;
  std::string value;                 // an example, a default, or made up
  std::vector<std::string> choices;  // all that are possible, where the document lists them
};

// From one answer to what may be done next.
struct Link {
  std::string name;
  std::string operation_id;  // of the two, the one that was given
  std::string method, path;
};

struct Operation {
  std::string method;  // POST
  std::string path;    // as written: "/payments/{id}/capture"
  std::string id;      // operationId
  Mark at;
  std::vector<std::string> base_paths;  // of its servers: "/v1", or ""; at least one
  std::vector<HeaderParameter> headers;
  std::vector<UrlParameter> parameters;
  std::vector<Link> links;

  std::string name() const { return method + " " + path; }
};

struct Api {
  std::string file;
  std::string version;  // of OpenAPI
  std::string title;
  std::vector<Operation> operations;  // without GET, HEAD, OPTIONS and TRACE
  int webhooks = 0;                   // requests that the API itself makes
  int callbacks = 0;
};

// All that is wrong with it as far as this audit reads it.
Result<Api, Problems> read_api(std::string_view text, const std::string& file);

}  // namespace oncekey::audit
