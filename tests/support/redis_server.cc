#include "support/redis_server.h"

#include <signal.h>

#include <filesystem>
#include <sstream>
#include <stdexcept>

#include "support/process_tree.h"
#include "support/server_port.h"
#include "support/waiting.h"

namespace oncekey::test {
namespace {

constexpr const char* program = "/usr/bin/redis-server";

// Loading a large append-only file takes its time.
constexpr Milliseconds start_patience{60'000};

std::string configuration(const RedisServer::Options& options, std::uint16_t port,
                          const std::string& folder) {
  std::ostringstream file;
  file << "bind 127.0.0.1\nport " << port << "\ndir " << folder << "\n";
  file << "save \"\"\nappendonly " << (options.append_only ? "yes" : "no") << "\n";
  file << "appendfsync " << options.append_fsync << "\ndatabases " << options.databases << "\n";
  file << "maxmemory-policy " << options.maxmemory_policy << "\n";
  if (!options.maxmemory.empty()) file << "maxmemory " << options.maxmemory << "\n";
  if (options.replica_of != 0) file << "replicaof 127.0.0.1 " << options.replica_of << "\n";
  if (options.cluster) file << "cluster-enabled yes\ncluster-config-file nodes.conf\n";
  file << "repl-diskless-sync-delay 0\nenable-debug-command local\n";
  for (const std::string& line : options.settings) file << line << "\n";
  return file.str();
}

}  // namespace

RedisServer::RedisServer(Options options) : options_(std::move(options)), port_(server_port()) {
  if (!std::filesystem::exists(program)) {
    throw std::runtime_error(std::string(program) + " is missing; install with ./dev test");
  }
  start();
}

RedisServer::~RedisServer() {
  if (process_) kill_tree(process_->pid());
}

std::string RedisServer::url(int database) const {
  return "redis://127.0.0.1:" + std::to_string(port_) + "/" + std::to_string(database);
}

void RedisServer::start() {
  std::string file =
      folder_.write("server.conf", configuration(options_, port_, folder_.path().string()));
  process_ = std::make_unique<Process>(std::vector<std::string>{program, file});
  auto answers = [&] {
    try {
      return command({"PING"}) == "PONG";
    } catch (const RedisError&) {
      return !runs(process_->pid());  // refused, or LOADING
    }
  };
  if (eventually(answers, start_patience) && runs(process_->pid())) return;
  throw std::runtime_error("Redis does not start: " + log());
}

void RedisServer::stop() {
  if (!process_) return;
  process_->signal(SIGTERM);
  if (!process_->wait(start_patience)) throw std::runtime_error("Redis does not stop: " + log());
  forget_process();
}

void RedisServer::kill_hard() {
  if (!process_) return;
  kill_tree(process_->pid());  // it may be writing its file anew in a child
  process_->wait();
  forget_process();
}

void RedisServer::forget_process() {
  earlier_log_ += process_->output();
  frozen_.reset();
  process_.reset();
}

void RedisServer::freeze() {
  frozen_.emplace(process_->pid());
}

void RedisServer::thaw() {
  frozen_.reset();
}

std::string RedisServer::command(const std::vector<std::string>& words, int database) const {
  return RedisClient(port_, database).command(words);
}

std::string RedisServer::info(const std::string& field) const {
  std::istringstream all(command({"INFO", "everything"}));
  for (std::string line; std::getline(all, line);) {
    if (!line.starts_with(field + ":")) continue;
    std::string value = line.substr(field.size() + 1);
    if (!value.empty() && value.back() == '\r') value.pop_back();
    return value;
  }
  throw RedisError("INFO has no field " + field);
}

std::string RedisServer::log() const {
  return earlier_log_ + (process_ ? process_->output() : "");
}

}  // namespace oncekey::test
