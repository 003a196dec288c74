// Whatever arrives on a connection is read the same in one piece and byte by byte, and an accepted
// head, written out again, is read as the same request.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>

#include "http/body_decoder.h"
#include "http/framing.h"
#include "http/head.h"
#include "oncekey/assert.h"

namespace {

using namespace oncekey::http;

constexpr HeadLimits limits{4 << 10, 50};

struct Body {
  std::string bytes;
  BodyDecoder::Status end = BodyDecoder::Status::need_more;

  bool operator==(const Body&) const = default;
};

Body decode(Framing framing, std::string_view input, std::size_t piece) {
  BodyDecoder decoder(framing);
  Body body;
  std::size_t begin = 0, end = 0;
  for (;;) {
    const BodyDecoder::Step step = decoder.step(input.substr(begin, end - begin));
    body.end = step.status;
    if (step.status == BodyDecoder::Status::bad) return body;
    ONCEKEY_ASSERT(step.consumed <= end - begin);
    ONCEKEY_ASSERT(step.data.size() <= step.consumed);
    begin += step.consumed;
    body.bytes.append(step.data);
    if (step.status == BodyDecoder::Status::done) return body;
    if (step.status == BodyDecoder::Status::data) continue;
    if (end == input.size()) return body;
    end += std::min(piece, input.size() - end);
  }
}

HeadScanner::Found scan_slowly(std::string_view input, HeadScanner& scanner) {
  for (std::size_t size = 1; size <= input.size(); ++size) {
    const HeadScanner::Found found = scanner.scan(input.substr(0, size), limits.bytes);
    if (found != HeadScanner::Found::incomplete) return found;
  }
  return HeadScanner::Found::incomplete;
}

std::string written(const RequestHead& head) {
  std::string text(head.method);
  text.append(" ").append(head.target).append(" HTTP/1.");
  text.append(std::to_string(head.minor_version)).append("\r\n");
  for (const Field& field : head.fields) {
    text.append(field.name).append(": ").append(field.value).append("\r\n");
  }
  return text.append("\r\n");
}

void check_same(const RequestHead& first, const RequestHead& second) {
  ONCEKEY_ASSERT(first.method == second.method && first.target == second.target);
  ONCEKEY_ASSERT(first.path == second.path && first.minor_version == second.minor_version);
  ONCEKEY_ASSERT(first.fields.size() == second.fields.size());
  for (std::size_t i = 0; i < first.fields.size(); ++i) {
    ONCEKEY_ASSERT(first.fields[i].id == second.fields[i].id);
    ONCEKEY_ASSERT(first.fields[i].name == second.fields[i].name);
    ONCEKEY_ASSERT(first.fields[i].value == second.fields[i].value);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  HeadScanner scanner, slow_scanner;
  const HeadScanner::Found found = scanner.scan(input, limits.bytes);
  ONCEKEY_ASSERT(scan_slowly(input, slow_scanner) == found);
  if (found != HeadScanner::Found::complete) return 0;
  ONCEKEY_ASSERT(scanner.head_begin() == slow_scanner.head_begin());
  ONCEKEY_ASSERT(scanner.head_end() == slow_scanner.head_end());

  const std::string_view text =
      input.substr(scanner.head_begin(), scanner.head_end() - scanner.head_begin());
  ResponseHead response;
  if (!response.parse(text, limits)) (void)response_framing(response, "GET").ok();
  RequestHead head;
  if (head.parse(text, limits)) return 0;
  const auto framing = request_framing(head);

  const std::string again = written(head);
  HeadScanner again_scanner;
  ONCEKEY_ASSERT(again_scanner.scan(again, again.size()) == HeadScanner::Found::complete);
  ONCEKEY_ASSERT(again_scanner.head_begin() == 0 && again_scanner.head_end() == again.size());
  RequestHead second;
  ONCEKEY_ASSERT(!second.parse(again, limits));
  check_same(head, second);
  const auto second_framing = request_framing(second);
  ONCEKEY_ASSERT(second_framing.ok() == framing.ok());
  if (!framing.ok()) return 0;
  ONCEKEY_ASSERT(second_framing->kind == framing->kind);
  ONCEKEY_ASSERT(second_framing->length == framing->length);

  const std::string_view rest = input.substr(scanner.head_end());
  const Body whole = decode(*framing, rest, rest.size());
  ONCEKEY_ASSERT(decode(*framing, rest, 1) == whole);
  ONCEKEY_ASSERT(decode(*framing, rest, 3) == whole);
  return 0;
}
