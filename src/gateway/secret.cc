#include "gateway/secret.h"

#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/rand.h>

#include <array>
#include <cerrno>
#include <filesystem>

#include "gateway/durable_file.h"
#include "oncekey/assert.h"
#include "oncekey/fingerprint.h"

namespace oncekey::gateway {
namespace {

constexpr std::size_t made_secret_bytes = 32;
constexpr std::string_view secret_name = "secret";
constexpr std::string_view id_name = "secret.id";

std::string hex(std::span<const std::uint8_t> bytes) {
  static constexpr char digits[] = "0123456789abcdef";
  std::string text;
  for (const std::uint8_t byte : bytes) {
    text.push_back(digits[byte >> 4]);
    text.push_back(digits[byte & 15]);
  }
  return text;
}

std::string_view without_line_end(std::string_view text) {
  while (text.ends_with('\n') || text.ends_with('\r')) text.remove_suffix(1);
  return text;
}

Result<Secret, SecretError> checked(std::string_view bytes, std::string origin) {
  bytes = without_line_end(bytes);
  if (bytes.size() < Fingerprinter::secret_size_min) {
    return SecretError{origin + ": the secret is too short: " + std::to_string(bytes.size()) +
                           " of at least " + std::to_string(Fingerprinter::secret_size_min) +
                           " characters",
                       "openssl rand -hex 32"};
  }
  return Secret{std::string(bytes), std::move(origin), {}};
}

Result<Secret, SecretError> from_file(const std::string& path) {
  Result<FileContent, FileError> content = read_small_file(path);
  if (!content) return SecretError{content.error().message, ""};
  Result<Secret, SecretError> secret = checked(content->bytes, path);
  if (secret && content->readable_by_others) {
    secret->warnings.push_back(path + ": other users can read the secret; chmod 600 it");
  }
  return secret;
}

Result<Secret, SecretError> from_folder(const std::string& folder, const RandomBytes& random) {
  const std::string path = folder + "/" + std::string(secret_name);
  Result<FileContent, FileError> content = read_small_file(path);
  if (content) return from_file(path);
  if (content.error().code != ENOENT) return SecretError{content.error().message, ""};
  std::array<std::uint8_t, made_secret_bytes> bytes{};
  random(bytes);
  Result<Created, FileError> created =
      create_durable_file(folder, std::string(secret_name), hex(bytes) + "\n");
  if (!created) return SecretError{created.error().message, ""};
  return from_file(path);  // what is on disk counts: another start may have been first
}

// Names the secret without giving it away.
std::string id_of(std::string_view secret) {
  constexpr std::string_view label = "oncekey secret id 1";
  std::array<std::uint8_t, EVP_MAX_MD_SIZE> digest{};
  unsigned int size = 0;
  const unsigned char* made = HMAC(EVP_sha256(), secret.data(), static_cast<int>(secret.size()),
                                   reinterpret_cast<const unsigned char*>(label.data()),
                                   label.size(), digest.data(), &size);
  ONCEKEY_ASSERT(made != nullptr && size >= 16);
  return hex(std::span(digest).first(16));
}

SecretError store_failed(std::string message) {
  return SecretError{std::move(message), "", true};
}

Result<Secret, SecretError> from_shared_store(const Agree& agree, const RandomBytes& random) {
  std::array<std::uint8_t, made_secret_bytes> bytes{};
  random(bytes);
  auto in_force = agree("secret", hex(bytes));
  if (!in_force) return store_failed(in_force.error().message);
  return checked(*in_force, "the secret in the store");
}

// As for a folder: the store remembers which secret its records were made with.
std::optional<SecretError> tie_to_shared_store(const Agree& agree, const Secret& secret,
                                               bool was_given) {
  const std::string id = id_of(secret.bytes);
  auto in_force = agree("secret_id", id);
  if (!in_force) return store_failed(in_force.error().message);
  if (*in_force == id) return std::nullopt;
  // What the store has for nodes that were given none was made by such a node, just now perhaps.
  return SecretError{
      was_given ? secret.origin + " is not the secret that this store is used with"
                : "this store is used with a secret_file (or ONCEKEY_SECRET); this node has none",
      "give the same secret_file or ONCEKEY_SECRET to every node, or to none; to give up "
      "the stored records, use an empty store"};
}

// With another secret every retry would be refused as another request, or, with API keys as
// tenants, run a second time.
std::optional<SecretError> tie_to_folder(const std::string& folder, const Secret& secret) {
  const std::string path = folder + "/" + std::string(id_name);
  const std::string id = id_of(secret.bytes);
  Result<Created, FileError> created = create_durable_file(folder, std::string(id_name), id + "\n");
  if (!created) return SecretError{created.error().message, ""};
  if (*created == Created::now) return std::nullopt;
  Result<FileContent, FileError> known = read_small_file(path);
  if (!known) return SecretError{known.error().message, ""};
  if (without_line_end(known->bytes) == id) return std::nullopt;
  return SecretError{secret.origin + " is not the secret that " + folder + " was used with",
                     "bring the former secret back; to give up the stored records, use an empty "
                     "folder"};
}

}  // namespace

void system_random(std::span<std::uint8_t> bytes) {
  ONCEKEY_ASSERT(RAND_bytes(bytes.data(), static_cast<int>(bytes.size())) == 1);
}

Result<Secret, SecretError> obtain_secret(const SecretSources& sources, const RandomBytes& random) {
  if (!sources.file.empty() && sources.environment) {
    return SecretError{"secret_file and ONCEKEY_SECRET are both set", "keep one of them"};
  }
  if (!sources.folder.empty()) {
    std::error_code error;
    const bool made = std::filesystem::create_directories(sources.folder, error);
    if (error) return SecretError{sources.folder + ": " + error.message(), ""};
    if (made)
      std::filesystem::permissions(sources.folder, std::filesystem::perms::owner_all, error);
  }
  Result<Secret, SecretError> secret = SecretError{};
  if (!sources.file.empty()) {
    secret = from_file(sources.file);
  } else if (sources.environment) {
    secret = checked(*sources.environment, "ONCEKEY_SECRET");
  } else if (!sources.folder.empty()) {
    secret = from_folder(sources.folder, random);
  } else if (sources.agree) {
    secret = from_shared_store(sources.agree, random);
  } else {
    std::array<std::uint8_t, made_secret_bytes> bytes{};
    random(bytes);
    secret = Secret{hex(bytes), "made for this run", {}};
  }
  if (!secret) return secret;
  std::optional<SecretError> foreign;
  if (!sources.folder.empty()) foreign = tie_to_folder(sources.folder, *secret);
  const bool was_given = !sources.file.empty() || sources.environment;
  if (sources.agree) foreign = tie_to_shared_store(sources.agree, *secret, was_given);
  if (foreign) return *foreign;
  return secret;
}

std::string store_folder(std::string_view store) {
  constexpr std::string_view scheme = "rocksdb:";
  return store.starts_with(scheme) ? std::string(store.substr(scheme.size())) : std::string();
}

}  // namespace oncekey::gateway
