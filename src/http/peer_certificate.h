// What a client's certificate says of it, once the server has verified the chain.
#pragma once

#include <string>
#include <vector>

namespace oncekey::http {

struct PeerCertificate {
  std::string subject;                 // RFC 2253
  std::string common_name;             // the subject's most specific one; "": none
  std::vector<std::string> dns_names;  // subjectAltName
  std::vector<std::string> uris;       // subjectAltName
  std::string sha256;                  // of the whole certificate, in lower-case hex
};

}  // namespace oncekey::http
