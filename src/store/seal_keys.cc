#include "store/seal_keys.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>

#include <algorithm>
#include <fstream>
#include <iterator>

namespace oncekey::store {
namespace {

constexpr std::size_t base64_length = 44;  // of 32 bytes, with its one "="
constexpr std::string_view how_to_make =
    "a key is made by: echo \"$(date +%Y-%m) $(openssl rand -base64 32)\"";

bool is_id(std::string_view text) {
  return !text.empty() && text.size() <= SealKeys::id_length_max &&
         std::all_of(text.begin(), text.end(), [](char c) {
           return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') ||
                  c == '-' || c == '_' || c == '.';
         });
}

bool decode(std::string_view text, std::array<std::uint8_t, 32>& out) {
  if (text.size() != base64_length || text[42] == '=' || text[43] != '=') return false;
  std::array<unsigned char, 33> decoded{};
  const auto* in = reinterpret_cast<const unsigned char*>(text.data());
  const int size = EVP_DecodeBlock(decoded.data(), in, static_cast<int>(text.size()));
  if (size == static_cast<int>(decoded.size())) {
    std::copy_n(decoded.begin(), out.size(), out.begin());
  }
  OPENSSL_cleanse(decoded.data(), decoded.size());
  return size == static_cast<int>(decoded.size());
}

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view blank = " \t\r";
  const std::size_t from = text.find_first_not_of(blank);
  if (from == std::string_view::npos) return {};
  return text.substr(from, text.find_last_not_of(blank) - from + 1);
}

}  // namespace

SealKeys::~SealKeys() {
  for (SealKey& key : keys_) OPENSSL_cleanse(key.bytes.data(), key.bytes.size());
}

Result<std::shared_ptr<const SealKeys>, std::string> SealKeys::parse(std::string_view text) {
  auto keys = std::make_shared<SealKeys>();
  keys->keys_.reserve(count_max);  // a vector that grew would leave copies of keys in memory
  for (std::size_t number = 1; !text.empty(); ++number) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = trimmed(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.empty() || line.front() == '#') continue;
    const std::string where = "line " + std::to_string(number) + ": ";
    const std::size_t space = line.find_first_of(" \t");
    const std::string_view id = line.substr(0, space);
    if (space == std::string_view::npos || !is_id(id)) {
      return where + "expected a name of up to " + std::to_string(id_length_max) +
             " letters, digits, - _ or . and, after a space, the base64 of 32 bytes; " +
             std::string(how_to_make);
    }
    if (keys->find(id) != nullptr) return where + "the name " + std::string(id) + " comes twice";
    if (keys->keys_.size() == count_max) {
      return where + "more than " + std::to_string(count_max) + " keys";
    }
    SealKey& key = keys->keys_.emplace_back();
    key.id = id;
    if (!decode(trimmed(line.substr(space)), key.bytes)) {
      return where + "the key " + key.id + " is not the base64 of 32 bytes; " +
             std::string(how_to_make);
    }
  }
  if (keys->keys_.empty()) return "there is no key in it; " + std::string(how_to_make);
  return std::shared_ptr<const SealKeys>(std::move(keys));
}

Result<std::shared_ptr<const SealKeys>, std::string> SealKeys::read(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::string text{std::istreambuf_iterator<char>(file), {}};
  if (!file.is_open() || file.bad()) return path + ": cannot be read";
  auto keys = parse(text);
  OPENSSL_cleanse(text.data(), text.size());
  if (!keys) return path + ", " + keys.error();
  return *keys;
}

const SealKey* SealKeys::find(std::string_view id) const {
  const auto found =
      std::find_if(keys_.begin(), keys_.end(), [&](const SealKey& key) { return key.id == id; });
  return found == keys_.end() ? nullptr : &*found;
}

}  // namespace oncekey::store
