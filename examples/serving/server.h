// What the example services have in common as programs: they listen, say where, and end when they
// are told to.
#pragma once

#include <functional>
#include <string>

namespace httplib {
class Server;
}

namespace serving {

// Before any thread is started: the signals that end the program come to serve() only.
void block_ending_signals();

// Connections with an own thread each, for as long as they live.
void configure(httplib::Server& server);

// Listens on HOST:PORT (0: any that is free), prints {"event":"listening","port":N}, and returns
// when SIGTERM or SIGINT came. `stop` is called before the server stops. Throws UsageError, or
// std::runtime_error when it cannot listen.
void serve(httplib::Server& server, const std::string& address, const std::function<void()>& stop);

// The exit code of `program`, whose errors are printed with its name; 2 and the usage for a
// UsageError.
int run(const char* name, const char* usage, const std::function<void()>& program);

}  // namespace serving
