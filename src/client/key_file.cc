#include "oncekey/key_file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>

#include "http/descriptor.h"

// The first line says what it is. Then one line for each entry: name, key, created, expires, with
// tabs between; % and what could be mistaken for a separator are written as %XX.

namespace oncekey {
namespace {

constexpr std::string_view first_line = "oncekey-keys 1\n";
constexpr std::size_t file_size_max = 64 << 20;
constexpr mode_t owner_only = S_IRUSR | S_IWUSR;

using Entries = std::vector<KeyFile::Entry>;

using http::Descriptor;

std::string failure(const std::string& path) {
  return "the key file " + path + ": " + std::strerror(errno);
}

std::string escaped(std::string_view text) {
  constexpr std::string_view digits = "0123456789ABCDEF";
  std::string out;
  for (const unsigned char byte : text) {
    if (byte > 0x20 && byte < 0x7f && byte != '%') {
      out += static_cast<char>(byte);
    } else {
      out += '%';
      out += digits[byte >> 4];
      out += digits[byte & 15];
    }
  }
  return out;
}

bool unescape(std::string_view text, std::string& into) {
  while (!text.empty()) {
    if (text.front() != '%') {
      into += text.front();
      text.remove_prefix(1);
      continue;
    }
    unsigned int byte = 0;
    if (text.size() < 3) return false;
    const auto [end, error] = std::from_chars(text.data() + 1, text.data() + 3, byte, 16);
    if (error != std::errc() || end != text.data() + 3) return false;
    into += static_cast<char>(byte);
    text.remove_prefix(3);
  }
  return true;
}

std::string_view cut(std::string_view& text, char separator) {
  const std::size_t at = text.find(separator);
  const std::string_view part = text.substr(0, at);
  text = at == std::string_view::npos ? std::string_view() : text.substr(at + 1);
  return part;
}

bool parse_time(std::string_view text, TimestampMs& into) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), into);
  return error == std::errc() && end == text.data() + text.size();
}

bool parse(std::string_view text, Entries& entries) {
  if (!text.starts_with(first_line) || !text.ends_with('\n')) return false;
  text.remove_prefix(first_line.size());
  while (!text.empty()) {
    std::string_view line = cut(text, '\n');
    KeyFile::Entry entry;
    if (!unescape(cut(line, '\t'), entry.name) || !unescape(cut(line, '\t'), entry.key) ||
        !parse_time(cut(line, '\t'), entry.created_at) || !parse_time(line, entry.expires_at) ||
        entry.name.empty() || entry.key.empty()) {
      return false;
    }
    entries.push_back(std::move(entry));
  }
  return true;
}

std::string print(const Entries& entries) {
  std::string text(first_line);
  for (const KeyFile::Entry& entry : entries) {
    text += escaped(entry.name) + '\t' + escaped(entry.key) + '\t' +
            std::to_string(entry.created_at) + '\t' + std::to_string(entry.expires_at) + '\n';
  }
  return text;
}

KeyFile::Answer<Entries> read_entries(const std::string& path) {
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file.is_open() && errno == ENOENT) return Entries();
  if (!file.is_open()) return failure(path);
  std::string text;
  char piece[16 << 10];
  while (text.size() <= file_size_max) {
    const ssize_t count = ::read(file.get(), piece, sizeof piece);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return failure(path);
    if (count == 0) break;
    text.append(piece, static_cast<std::size_t>(count));
  }
  Entries entries;
  if (!parse(text, entries)) {
    return "the key file " + path +
           " is damaged, or not a key file. Operations that were under way may have run: look them "
           "up in the API, then move the file away.";
  }
  return entries;
}

bool write_all(int file, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t count = ::write(file, bytes.data(), bytes.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(count));
  }
  return true;
}

KeyFile::Answer<std::monostate> replace(const std::string& path, const std::string& text) {
  const std::string next = path + ".new";  // only the holder of the lock writes it
  {
    const Descriptor file(
        ::open(next.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, owner_only));
    if (!file.is_open() || !write_all(file.get(), text) || ::fsync(file.get()) != 0) {
      return failure(next);
    }
  }
  if (::rename(next.c_str(), path.c_str()) != 0) return failure(path);
  const std::size_t slash = path.rfind('/');
  const std::string folder = slash == std::string::npos ? "." : path.substr(0, slash + 1);
  const Descriptor directory(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!directory.is_open() || ::fsync(directory.get()) != 0) return failure(folder);
  return std::monostate();
}

// Reads, lets `change` work on the entries, and writes them when it returns true; alone among all
// processes and threads. The lock is a file of its own, since the other is replaced.
template <class Change>
KeyFile::Answer<std::monostate> change_entries(const std::string& path, Change change) {
  const std::string lock_path = path + ".lock";
  const Descriptor lock(::open(lock_path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, owner_only));
  if (!lock.is_open()) return failure(lock_path);
  while (::flock(lock.get(), LOCK_EX) != 0) {
    if (errno != EINTR) return failure(lock_path);
  }
  KeyFile::Answer<Entries> entries = read_entries(path);
  if (!entries) return entries.error();
  if (!change(*entries)) return std::monostate();
  return replace(path, print(*entries));
}

Entries::iterator find(Entries& entries, std::string_view name) {
  return std::find_if(entries.begin(), entries.end(),
                      [&](const KeyFile::Entry& entry) { return entry.name == name; });
}

}  // namespace

KeyFile::Answer<KeyFile::Taken> KeyFile::take(std::string_view name, std::string_view key_if_new,
                                              TimestampMs now) {
  if (name.empty() || name.size() > name_length_max) {
    return "an operation's name has 1 to " + std::to_string(name_length_max) + " characters";
  }
  Taken taken;
  bool full = false;
  const auto changed = change_entries(path_, [&](Entries& entries) {
    const auto found = find(entries, name);
    taken.was_there = found != entries.end();
    if (taken.was_there) {
      taken.entry = *found;
      return false;
    }
    full = entries.size() >= entries_max;
    taken.entry = {std::string(name), std::string(key_if_new), now, 0};
    entries.push_back(taken.entry);
    return !full;
  });
  if (!changed) return changed.error();
  if (full) {
    return "the key file " + path_ + " has " + std::to_string(entries_max) +
           " operations that have not come to their end, which is its limit";
  }
  return taken;
}

KeyFile::Answer<std::monostate> KeyFile::set_expiry(std::string_view name, std::string_view key,
                                                    TimestampMs expires_at) {
  return change_entries(path_, [&](Entries& entries) {
    const auto found = find(entries, name);
    if (found == entries.end() || found->key != key || found->expires_at == expires_at)
      return false;
    found->expires_at = expires_at;
    return true;
  });
}

KeyFile::Answer<std::monostate> KeyFile::remove(std::string_view name, std::string_view key) {
  return change_entries(path_, [&](Entries& entries) {
    const auto found = find(entries, name);
    if (found == entries.end() || found->key != key) return false;
    entries.erase(found);
    return true;
  });
}

KeyFile::Answer<std::vector<KeyFile::Entry>> KeyFile::list() const {
  return read_entries(path_);
}

}  // namespace oncekey
