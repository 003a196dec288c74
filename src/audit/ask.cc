#include "audit/ask.h"

#include <algorithm>

#include "audit/path_template.h"
#include "verify/transport.h"

namespace oncekey::audit {
namespace {

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
  return out;
}

// A refusal that speaks of the key, by the header's name or the matter's.
bool speaks_of_key(const verify::Answer& answer, const std::vector<std::string>& key_headers) {
  std::string text = lower(answer.body);
  for (const Header& field : answer.headers) text += lower(field.value) + "\n";
  const auto is_named = [&](const std::string& name) {
    return text.find(lower(name)) != std::string::npos;
  };
  return text.find("idempoten") != std::string::npos ||
         std::any_of(key_headers.begin(), key_headers.end(), is_named);
}

std::string why_unclear(int status) {
  const std::string answered = "answered " + std::to_string(status);
  if (status == 401 || status == 403) {
    return answered + " before it looked for a key; give credentials by --header";
  }
  if (status == 404 || status == 405 || status == 410) {
    return answered + ": it is not there, or not for these parameters";
  }
  if (status >= 500) return answered + ": it failed instead of refusing";
  if (status >= 400) {
    return answered + " without a word about the key; it may be the empty body that it refused";
  }
  return answered + ": no refusal, and no success";
}

}  // namespace

std::string_view to_string(Asked::Kind kind) {
  switch (kind) {
    case Asked::Kind::refused:
      return "refused";
    case Asked::Kind::executed:
      return "executed";
    case Asked::Kind::unclear:
      return "unclear";
  }
  return "";
}

std::string target_of(const Operation& operation, const std::string& base_path) {
  const auto value_of = [&](std::string_view name) -> std::string {
    for (const UrlParameter& each : operation.parameters) {
      if (each.in_path && each.name == name) return percent_encoded(each.value);
    }
    return "";
  };
  std::string target = base_path + filled(operation.path, value_of);
  char separator = '?';
  for (const UrlParameter& each : operation.parameters) {
    if (each.in_path) continue;
    target += separator + percent_encoded(each.name) + "=" + percent_encoded(each.value);
    separator = '&';
  }
  return target;
}

std::string base_path_for(const Operation& operation, const verify::Place& place,
                          const std::vector<std::string>& base_paths) {
  std::string own = place.target.substr(0, place.target.find('?'));
  while (own.ends_with('/')) own.pop_back();
  if (!own.empty()) return own;
  return base_paths.empty() ? operation.base_paths.front() : base_paths.front();
}

Asked understand(const verify::Answer& answer, const std::vector<std::string>& key_headers) {
  Asked out;
  out.status = answer.status;
  if (answer.status == 0) {
    out.what = "no answer: " + answer.error;
  } else if (answer.success()) {
    out.kind = Asked::Kind::executed;
    out.what = "executed without a key: answered " + std::to_string(answer.status);
  } else if (answer.status >= 400 && answer.status < 500 && speaks_of_key(answer, key_headers)) {
    out.kind = Asked::Kind::refused;
    out.what = "refused with " + std::to_string(answer.status) + " for the missing key";
  } else {
    out.what = why_unclear(answer.status);
  }
  return out;
}

Asked ask(const Operation& operation, const verify::Subject& subject,
          const std::vector<std::string>& base_paths, const std::vector<std::string>& key_headers) {
  verify::Request request;
  request.what = "without a key";
  request.method = operation.method;
  request.target = target_of(operation, base_path_for(operation, subject.place, base_paths));
  return understand(verify::exchange(request, subject), key_headers);
}

}  // namespace oncekey::audit
