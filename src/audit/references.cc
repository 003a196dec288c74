#include "audit/references.h"

#include <charconv>

namespace oncekey::audit {
namespace {

std::string percent_decoded(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    unsigned byte = 0;
    const char* digits = text.data() + i + 1;
    const bool escape = text[i] == '%' && i + 2 < text.size() &&
                        std::from_chars(digits, digits + 2, byte, 16).ptr == digits + 2;
    out += escape ? static_cast<char>(byte) : text[i];
    if (escape) i += 2;
  }
  return out;
}

std::string unescaped(const std::string& token) {
  std::string out;
  for (std::size_t i = 0; i < token.size(); ++i) {
    const bool escape = token[i] == '~' && i + 1 < token.size();
    if (escape) ++i;
    out += !escape ? token[i] : (token[i] == '1' ? '/' : '~');
  }
  return out;
}

const Value* child(const Value& of, const std::string& token) {
  if (of.kind != Value::Kind::list) return of.find(token);
  std::size_t index = 0;
  const char* end = token.data() + token.size();
  const auto [stopped, error] = std::from_chars(token.data(), end, index);
  const bool good = error == std::errc() && stopped == end && index < of.items.size();
  return good ? &of.items[index] : nullptr;
}

}  // namespace

std::string pointer_token(std::string_view escaped) {
  return unescaped(percent_decoded(escaped));
}

const Value* at_fragment(const Value& root, std::string_view fragment) {
  if (fragment == "#") return &root;
  if (!fragment.starts_with("#/")) return nullptr;
  std::string_view rest = fragment.substr(2);
  const Value* at = &root;
  while (at != nullptr) {
    const std::size_t slash = rest.find('/');
    at = child(*at, pointer_token(rest.substr(0, slash)));
    if (slash == std::string_view::npos) break;
    rest.remove_prefix(slash + 1);
  }
  return at;
}

const Value* References::follow(const Value& value) const {
  const Value* at = &value;
  for (int i = 0; i < references_max; ++i) {
    const Value* reference = at->find("$ref");
    if (reference == nullptr) return at;
    const std::string& target = reference->text;
    if (!target.starts_with('#')) {
      problems_.push_back({reference->at, "$ref to another document is not followed: " + target +
                                              ". Bundle the documents into one first"});
      return nullptr;
    }
    at = at_fragment(root_, target);
    if (at == nullptr) {
      problems_.push_back({reference->at, "$ref leads to nothing: " + target});
      return nullptr;
    }
  }
  problems_.push_back({value.at, "$ref leads round in a circle"});
  return nullptr;
}

}  // namespace oncekey::audit
