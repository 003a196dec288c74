#include "boundary/response_codec.h"

#include <zstd.h>

#include <algorithm>
#include <array>
#include <memory>

#include "boundary/ascii.h"
#include "oncekey/assert.h"

namespace oncekey {
namespace {

constexpr int compression_level = 1;  // answers are small: higher levels cost more than they save

// Connection-specific headers (RFC 9110 section 7.6.1), framing, and what is true only once.
constexpr std::array<std::string_view, 16> never_replayed = {"connection",
                                                             "content-length",
                                                             "date",
                                                             "keep-alive",
                                                             "proxy-authenticate",
                                                             "proxy-authentication-info",
                                                             "proxy-authorization",
                                                             "proxy-connection",
                                                             "set-cookie",
                                                             "set-cookie2",
                                                             "te",
                                                             "trailer",
                                                             "trailers",
                                                             "transfer-encoding",
                                                             "upgrade",
                                                             "authorization"};

bool list_names(std::string_view list, std::string_view name) {
  while (!list.empty()) {
    const auto comma = std::min(list.find(','), list.size());
    if (equals_ignoring_case(trim(list.substr(0, comma)), name)) return true;
    list.remove_prefix(std::min(comma + 1, list.size()));
  }
  return false;
}

bool named_by_connection(std::span<const Header> headers, std::string_view name) {
  return std::any_of(headers.begin(), headers.end(), [&](const Header& header) {
    return equals_ignoring_case(header.name, "connection") && list_names(header.value, name);
  });
}

struct FreeZstd {
  void operator()(ZSTD_CCtx* context) const { ZSTD_freeCCtx(context); }
  void operator()(ZSTD_DCtx* context) const { ZSTD_freeDCtx(context); }
};

// Empty: it does not pay.
std::string compress(std::string_view body) {
  if (body.size() < compress_size_min) return {};
  thread_local const std::unique_ptr<ZSTD_CCtx, FreeZstd> context(ZSTD_createCCtx());
  ONCEKEY_ASSERT(context != nullptr);
  ZSTD_CCtx_setParameter(context.get(), ZSTD_c_compressionLevel, compression_level);
  ZSTD_CCtx_setParameter(context.get(), ZSTD_c_checksumFlag, 1);
  // A target without room for a poor result makes zstd give up early.
  std::string packed(body.size() - body.size() * compress_saving_percent_min / 100, '\0');
  const std::size_t size =
      ZSTD_compress2(context.get(), packed.data(), packed.size(), body.data(), body.size());
  if (ZSTD_isError(size)) return {};
  packed.resize(size);
  packed.shrink_to_fit();
  return packed;
}

Result<std::string, UnpackError> decompress(std::string_view packed, std::size_t size_max) {
  const auto size = ZSTD_getFrameContentSize(packed.data(), packed.size());
  if (size == ZSTD_CONTENTSIZE_ERROR || size == ZSTD_CONTENTSIZE_UNKNOWN) {
    return UnpackError{"the stored body is not a zstd frame with a size"};
  }
  if (size > size_max) return UnpackError{"the stored body unpacks to more than the limit"};
  thread_local const std::unique_ptr<ZSTD_DCtx, FreeZstd> context(ZSTD_createDCtx());
  ONCEKEY_ASSERT(context != nullptr);
  std::string body(static_cast<std::size_t>(size), '\0');
  const std::size_t unpacked =
      ZSTD_decompressDCtx(context.get(), body.data(), body.size(), packed.data(), packed.size());
  if (ZSTD_isError(unpacked)) {
    return UnpackError{std::string("the stored body is damaged: ") + ZSTD_getErrorName(unpacked)};
  }
  if (unpacked != body.size()) return UnpackError{"the stored body is shorter than its frame says"};
  return body;
}

}  // namespace

bool replayable_header(std::string_view name) {
  return std::none_of(never_replayed.begin(), never_replayed.end(),
                      [&](std::string_view never) { return equals_ignoring_case(name, never); });
}

StoredResponse pack_response(int status, std::span<const Header> headers, std::string_view body,
                             std::span<const std::string> allowed) {
  StoredResponse response;
  response.status = status;
  for (const Header& header : headers) {
    const bool is_allowed = std::any_of(allowed.begin(), allowed.end(), [&](const auto& name) {
      return equals_ignoring_case(header.name, name);
    });
    if (is_allowed && replayable_header(header.name) &&
        !named_by_connection(headers, header.name)) {
      response.headers.push_back(header);
    }
  }
  response.body = compress(body);
  if (response.body.empty()) {
    response.body = body;
  } else {
    response.body_encoding = BodyEncoding::zstd;
  }
  return response;
}

Result<std::string, UnpackError> unpack_body(const StoredResponse& response, std::size_t size_max) {
  if (response.schema_version != StoredResponse::current_schema_version) {
    return UnpackError{"the stored response has schema version " +
                       std::to_string(response.schema_version) + ", which this build cannot read"};
  }
  switch (response.body_encoding) {
    case BodyEncoding::identity:
      if (response.body.size() > size_max) {
        return UnpackError{"the stored body is larger than the limit"};
      }
      return response.body;
    case BodyEncoding::zstd:
      return decompress(response.body, size_max);
    case BodyEncoding::sealed:
      return UnpackError{"the stored answer is encrypted, and no key at hand opens it"};
  }
  return UnpackError{"the stored body has an encoding that this build does not know"};
}

}  // namespace oncekey
