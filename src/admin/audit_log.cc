#include "admin/audit_log.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <map>

#include "boundary/answer.h"
#include "boundary/json_document.h"
#include "boundary/json_writer.h"
#include "gateway/trace.h"
#include "http/descriptor.h"

namespace oncekey::admin {
namespace {

using http::Descriptor;

std::string failed(const std::string& path) {
  return path + ": " + std::strerror(errno);
}

void write_json(JsonWriter& json, std::string_view name, const std::string& value) {
  json.key(name);
  json.raw(value.empty() ? "null" : value);
}

std::string line_of(const std::string& id, std::string_view phase, TimestampMs now,
                    const AuditEntry& entry) {
  std::string line;
  JsonWriter json(line);
  json.begin_object();
  json.member("at", format_rfc3339(now));
  json.member("id", id);
  json.member("phase", phase);
  json.member("who", entry.who);
  json.member("from", entry.from);
  json.member("action", entry.action);
  write_json(json, "target", entry.target);
  json.member("reason", entry.reason);
  write_json(json, "before", entry.before);
  write_json(json, "after", entry.after);
  json.member("result", entry.result);
  json.end_object();
  line.push_back('\n');
  return line;
}

// A new file's name must be durable as well.
bool sync_folder(const std::string& path) {
  std::string folder = std::filesystem::path(path).parent_path().string();
  if (folder.empty()) folder = ".";
  const Descriptor directory(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  return directory.is_open() && ::fsync(directory.get()) == 0;
}

// The end of the file from the first whole line on.
std::string tail_of(const std::string& path, std::size_t bytes_max) {
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  struct stat status {};
  if (!file.is_open() || ::fstat(file.get(), &status) != 0) return {};
  const auto size = static_cast<std::size_t>(status.st_size);
  const std::size_t skipped = size > bytes_max ? size - bytes_max : 0;
  std::string text(size - skipped, '\0');
  std::size_t got = 0;
  while (got < text.size()) {
    const ssize_t count = ::pread(file.get(), text.data() + got, text.size() - got,
                                  static_cast<off_t>(skipped + got));
    if (count <= 0) break;
    got += static_cast<std::size_t>(count);
  }
  text.resize(got);
  if (skipped > 0) text.erase(0, text.find('\n') + 1);
  return text;
}

}  // namespace

std::string default_audit_file(std::string_view store) {
  constexpr std::string_view name = "oncekey-audit.jsonl";
  for (const std::string_view scheme : {"rocksdb:", "sqlite:"}) {
    if (!store.starts_with(scheme)) continue;
    std::string_view path = store.substr(scheme.size());
    path = path.substr(0, path.find('?'));
    return (std::filesystem::path(path).parent_path() / name).string();
  }
  return std::string(name);
}

std::optional<std::string> AuditLog::append(const std::string& id, std::string_view phase,
                                            const AuditEntry& entry) {
  const std::string line = line_of(id, phase, clock_(), entry);
  std::lock_guard lock(mutex_);
  // Opened each time, so that a file that was moved away is begun anew.
  const bool is_new = ::access(path_.c_str(), F_OK) != 0;
  const Descriptor file(
      ::open(path_.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, S_IRUSR | S_IWUSR));
  if (!file.is_open()) return failed(path_);
  // One write: lines of several processes do not mix. What was written in part is ended, so that
  // the next line is one again.
  const ssize_t written = ::write(file.get(), line.data(), line.size());
  if (written < 0) return failed(path_);
  if (static_cast<std::size_t>(written) != line.size()) {
    [[maybe_unused]] const ssize_t ended = ::write(file.get(), "\n", 1);
    return path_ + ": only a part could be written: " + std::strerror(ENOSPC);
  }
  if (::fdatasync(file.get()) != 0) return failed(path_);
  if (is_new && !sync_folder(path_)) return failed(path_);
  return std::nullopt;
}

AuditLog::Begun AuditLog::begin(const AuditEntry& entry) {
  Begun begun{gateway::random_uuid(), ""};
  if (auto error = append(begun.id, "intent", entry)) begun.error = std::move(*error);
  return begun;
}

std::optional<std::string> AuditLog::finish(const std::string& id, const AuditEntry& entry) {
  return append(id, "result", entry);
}

std::vector<std::string> AuditLog::last(std::size_t count) const {
  const std::string text = tail_of(path_, read_bytes_max);
  std::vector<std::string> entries;
  std::map<std::string, bool> seen;
  std::size_t end = text.size();
  while (end > 0 && entries.size() < count) {
    const std::size_t start = text.rfind('\n', end - 1) + 1;
    std::string line = text.substr(start, end - start);
    end = start == 0 ? 0 : start - 1;
    const JsonDocument document(line);
    const auto id = document.text_at("/id");
    if (!id) continue;  // empty, or cut off by a crash
    if (!seen.emplace(*id, true).second) continue;
    if (document.text_at("/phase") == "intent") {
      constexpr std::string_view empty_result = "\"result\":\"\"";
      const std::size_t at = line.rfind(empty_result);
      if (at != line.npos) line.replace(at, empty_result.size(), "\"result\":\"unknown\"");
    }
    entries.push_back(std::move(line));
  }
  return entries;
}

}  // namespace oncekey::admin
