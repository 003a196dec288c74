#include "http/framing.h"

namespace oncekey::http {

namespace {

// Digits only: no sign, no blank, no list. 18 digits fit into 64 bits.
std::optional<std::uint64_t> parse_length(std::string_view text) {
  if (text.empty() || text.size() > 18) return std::nullopt;
  std::uint64_t value = 0;
  for (char c : text) {
    if (c < '0' || c > '9') return std::nullopt;
    value = value * 10 + static_cast<std::uint64_t>(c - '0');
  }
  return value;
}

// What the fields alone say; `none` when they say nothing.
Result<Framing, Refusal> declared_framing(const Head& head) {
  std::size_t codings = head.count(FieldId::transfer_encoding);
  std::size_t lengths = head.count(FieldId::content_length);
  if (codings > 0 && lengths > 0) {
    return Refusal{400, "both Transfer-Encoding and Content-Length are present"};
  }
  if (codings > 1) return Refusal{400, "there is more than one Transfer-Encoding header"};
  if (lengths > 1) return Refusal{400, "there is more than one Content-Length header"};
  if (codings == 1) {
    if (head.minor_version == 0) return Refusal{400, "Transfer-Encoding in HTTP/1.0"};
    if (!equals_ignoring_case(head.find(FieldId::transfer_encoding)->value, "chunked")) {
      return Refusal{400, "the only Transfer-Encoding accepted is chunked"};
    }
    return Framing{Framing::Kind::chunked, 0};
  }
  if (lengths == 1) {
    auto length = parse_length(head.find(FieldId::content_length)->value);
    if (!length) return Refusal{400, "Content-Length is not a plain decimal number"};
    return Framing{Framing::Kind::sized, *length};
  }
  return Framing{};
}

}  // namespace

Result<Framing, Refusal> request_framing(const RequestHead& head) {
  return declared_framing(head);
}

Result<Framing, Refusal> response_framing(const ResponseHead& head,
                                          std::string_view request_method) {
  Result<Framing, Refusal> declared = declared_framing(head);
  if (!declared) return declared;
  bool bodiless =
      request_method == "HEAD" || head.status < 200 || head.status == 204 || head.status == 304;
  if (bodiless) return Framing{};
  if (declared->kind == Framing::Kind::none) return Framing{Framing::Kind::until_close, 0};
  return declared;
}

}  // namespace oncekey::http
