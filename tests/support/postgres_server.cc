#include "support/postgres_server.h"

#include <pwd.h>
#include <signal.h>
#include <sys/shm.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <stdexcept>

#include "support/process_tree.h"
#include "support/server_port.h"
#include "support/waiting.h"

namespace oncekey::test {
namespace {

namespace fs = std::filesystem;

// PostgreSQL refuses to run as root, so a test that does runs it as the package's own user.
constexpr const char* unprivileged_user = "postgres";

// A server under load on a slow disk may take this long to recover or to write a checkpoint.
constexpr Milliseconds start_patience{60'000};

std::string program(const std::string& name) {
  fs::path versions = "/usr/lib/postgresql";
  int newest = 0;
  std::error_code missing;
  for (const auto& entry : fs::directory_iterator(versions, missing)) {
    std::string version = entry.path().filename();
    bool is_number = version.find_first_not_of("0123456789") == std::string::npos;
    if (is_number && fs::exists(entry.path() / "bin" / name)) {
      newest = std::max(newest, std::stoi(version));
    }
  }
  if (newest > 0) return versions / std::to_string(newest) / "bin" / name;
  throw std::runtime_error("PostgreSQL's " + name + " is not in " + versions.string() +
                           "/*/bin; install with ./dev test");
}

// The end of the thread that started it ends the server; the setting has to come after the change
// of user, which clears it. Its folder is left first: another user may not enter it.
std::vector<std::string> as_ordinary_user(std::vector<std::string> words) {
  if (::geteuid() != 0) return words;
  std::string user = unprivileged_user;
  std::vector<std::string> all{
      "/usr/bin/env",    "--chdir=/",     "setpriv",          "--reuid=" + user,
      "--regid=" + user, "--init-groups", "--pdeathsig=QUIT", "--"};
  all.insert(all.end(), words.begin(), words.end());
  return all;
}

void give_to_ordinary_user(const fs::path& path) {
  if (::geteuid() != 0) return;
  const passwd* user = ::getpwnam(unprivileged_user);
  if (user == nullptr)
    throw std::runtime_error("there is no user postgres; install with ./dev test");
  if (::chown(path.c_str(), user->pw_uid, user->pw_gid) != 0) {
    throw std::runtime_error("cannot give " + path.string() + " to the user postgres");
  }
}

void run(const std::vector<std::string>& words) {
  Process process(as_ordinary_user(words));
  if (process.wait(start_patience) != 0) {
    throw std::runtime_error(words[0] + " failed: " + process.output());
  }
}

std::string url_of(const std::string& user, std::uint16_t port, const std::string& database) {
  return "postgres://" + user + "@127.0.0.1:" + std::to_string(port) + "/" + database;
}

}  // namespace

PostgresServer::PostgresServer(Options options)
    : options_(std::move(options)), port_(server_port()) {
  give_to_ordinary_user(folder_.path());
  run({program("initdb"), "--pgdata=" + data(), "--username=postgres", "--auth=trust",
       "--encoding=UTF8", "--locale=C", "--no-sync"});
  start();
  execute("CREATE ROLE oncekey LOGIN", "postgres");
  create_database("oncekey");
}

PostgresServer::PostgresServer(const PostgresServer& primary, std::string name, Options options)
    : options_(std::move(options)), port_(server_port()) {
  give_to_ordinary_user(folder_.path());
  make_standby_of(primary, name);
}

PostgresServer::~PostgresServer() {
  if (!process_) return;
  thaw();
  process_->signal(SIGQUIT);
  if (!process_->wait()) kill_tree(process_->pid());
}

std::string PostgresServer::url(const std::string& database) const {
  return url_of("oncekey", port_, database);
}

std::string PostgresServer::admin_url(const std::string& database) const {
  return url_of("postgres", port_, database);
}

void PostgresServer::start() {
  std::string settings =
      "fsync = on\nsynchronous_commit = on\nmax_connections = 200\ntimezone = UTC\n";
  for (const std::string& line : options_.settings) settings += line + "\n";
  std::string file = folder_.write("server.conf", settings);
  give_to_ordinary_user(file);
  std::vector<std::string> words{program("postgres"),
                                 "-D",
                                 data(),
                                 "-c",
                                 "config_file=" + file,
                                 "-h",
                                 "127.0.0.1",
                                 "-p",
                                 std::to_string(port_),
                                 "-k",
                                 folder_.path().string()};
  if (options_.file_bytes_max > 0) {
    const std::string limit = "--fsize=" + std::to_string(options_.file_bytes_max);
    words.insert(words.begin(), {"/usr/bin/prlimit", limit, "--"});
  }
  process_ = std::make_unique<Process>(as_ordinary_user(words));
  bool up = eventually(
      [&] { return accepts_connections(admin_url("postgres")) || !runs(process_->pid()); },
      start_patience);
  if (up && runs(process_->pid())) return;
  throw std::runtime_error("PostgreSQL does not start: " + log());
}

void PostgresServer::restart_fast() {
  stop_fast();
  start();
}

void PostgresServer::stop_fast() {
  end(SIGINT);
}

void PostgresServer::stop_immediate() {
  end(SIGQUIT);
}

void PostgresServer::end(int signal) {
  if (!process_) return;
  process_->signal(signal);
  if (!process_->wait(start_patience)) {
    throw std::runtime_error("PostgreSQL does not stop: " + log());
  }
  forget_process();
}

void PostgresServer::kill_hard() {
  if (!process_) return;
  kill_tree(process_->pid());
  process_->wait();
  forget_process();
  release_shared_memory();
}

// What a killed server leaves to the next start with the same data, which may never come. The
// kernel has room for some thousands. The seventh line of the file: "KEY IDENTIFIER".
void PostgresServer::release_shared_memory() const {
  std::ifstream file(fs::path(data()) / "postmaster.pid");
  std::string line;
  for (int number = 1; number < 7; ++number) std::getline(file, line);
  unsigned long key = 0;
  int identifier = 0;
  shmid_ds state{};
  if (!(file >> key >> identifier) || ::shmctl(identifier, IPC_STAT, &state) != 0) return;
  if (state.shm_nattch == 0) ::shmctl(identifier, IPC_RMID, nullptr);
}

void PostgresServer::forget_process() {
  earlier_log_ += process_->output();
  frozen_.reset();
  process_.reset();
}

void PostgresServer::freeze() {
  frozen_.emplace(process_->pid());
}

void PostgresServer::thaw() {
  frozen_.reset();
}

void PostgresServer::terminate_backends() const {
  execute(
      "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
      " WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()",
      "postgres");
}

void PostgresServer::create_database(const std::string& name, const std::string& from) const {
  execute("CREATE DATABASE \"" + name + "\" OWNER oncekey TEMPLATE \"" + from + "\"", "postgres");
}

void PostgresServer::set(const std::string& name, const std::string& value) const {
  PostgresClient client(admin_url("postgres"));
  client.execute("ALTER SYSTEM SET " + name + " = '" + value + "'");
  const auto loaded = [this] { return query("SELECT pg_conf_load_time()", "postgres"); };
  const std::string before = loaded();
  client.execute("SELECT pg_reload_conf()");
  if (!eventually([&] { return loaded() != before; })) {
    throw std::runtime_error("the server did not read its settings again: " + log());
  }
}

void PostgresServer::promote() const {
  if (query("SELECT pg_promote(true, 60)", "postgres") != "t") {
    throw std::runtime_error("the standby was not promoted: " + log());
  }
}

bool PostgresServer::is_standby() const {
  return query("SELECT pg_is_in_recovery()", "postgres") == "t";
}

void PostgresServer::make_standby_of(const PostgresServer& primary, const std::string& name) {
  if (process_) kill_hard();
  fs::remove_all(data());
  run({program("pg_basebackup"), "--pgdata=" + data(), "--dbname=" + primary.admin_url("postgres"),
       "--wal-method=stream", "--checkpoint=fast", "--no-sync"});
  // What the primary was told to be (ALTER SYSTEM) is not what its standby is.
  fs::path own = fs::path(data()) / "postgresql.auto.conf";
  folder_.write(
      "data/postgresql.auto.conf",
      "primary_conninfo = '" + primary.admin_url("postgres") + "?application_name=" + name + "'\n");
  give_to_ordinary_user(own);
  give_to_ordinary_user(folder_.write("data/standby.signal", ""));
  start();
}

void PostgresServer::await_standby(const std::string& name, bool synchronous) const {
  std::string condition = "application_name = '" + name + "' AND state = 'streaming'";
  if (synchronous) condition += " AND sync_state IN ('sync', 'quorum')";
  std::string streaming = "SELECT count(*) FROM pg_stat_replication WHERE " + condition;
  if (eventually([&] { return query(streaming, "postgres") == "1"; }, start_patience)) return;
  throw std::runtime_error("the standby " + name + " does not stream: " + log());
}

std::string PostgresServer::query(const std::string& sql, const std::string& database) const {
  return PostgresClient(admin_url(database)).query(sql);
}

std::string PostgresServer::log() const {
  return earlier_log_ + (process_ ? process_->output() : "");
}

}  // namespace oncekey::test
