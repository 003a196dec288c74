// Who may do what on the admin port.
//
// Without a token, whoever is on this machine may read and nobody may change anything. A browser
// is let in only from the port's own pages: a name that an attacker points at this address (DNS
// rebinding), and pages of other sites, are refused.
#pragma once

#include <sys/stat.h>

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "admin/endpoint.h"
#include "admin/tokens.h"
#include "http/head.h"

namespace oncekey::admin {

class TokenGuard {
 public:
  struct Sources {
    std::string file;                        // admin_token_file; "": none
    std::optional<std::string> environment;  // ONCEKEY_ADMIN_TOKEN
    std::string address;                     // that the port is bound to
    std::vector<std::string> hosts;          // admin_hosts: further names it is reached by
    std::function<void(const std::string&)> report = [](const std::string&) {};
  };

  // Throws std::runtime_error, with a sentence for operators, when the tokens cannot be read, or
  // when there are none and the port is reachable from other machines.
  explicit TokenGuard(Sources sources);

  // One thread at a time. A token file that has changed is read again; one that has become
  // unreadable changes nothing, and is reported.
  std::variant<Reply, Caller> admit(const http::RequestHead& head, std::string_view peer,
                                    Access access);

 private:
  Result<std::vector<Token>, std::string> read_tokens() const;
  void follow_file();
  bool own_host(std::string_view host) const;
  std::optional<Reply> refuse_browser(const http::RequestHead& head) const;

  Sources sources_;
  std::vector<Token> tokens_;
  struct stat file_ {};
};

// A socket address or a host name that only this machine can reach.
bool is_loopback_host(std::string_view host);

}  // namespace oncekey::admin
