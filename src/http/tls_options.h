// How TLS is spoken: to clients, and to those that we call.
#pragma once

#include <cstdint>
#include <string>

namespace oncekey::http {

enum class TlsVersion : std::uint8_t { v1_2, v1_3 };
enum class ClientCertificates : std::uint8_t { none, optional, required };

struct ServerTlsOptions {
  std::string cert;       // PEM: the certificate, then what leads to its authority; "": no TLS
  std::string key;        // PEM
  std::string client_ca;  // PEM: the authorities of clients' certificates
  ClientCertificates client_certificates = ClientCertificates::none;
  TlsVersion min_version = TlsVersion::v1_2;

  bool enabled() const { return !cert.empty(); }
  bool operator==(const ServerTlsOptions&) const = default;
};

struct ClientTlsOptions {
  std::string ca;  // PEM: the authorities that are trusted; "": the system's
  bool verify = true;
  std::string server_name;  // the name that the certificate must have; "": the URL's host
  std::string cert;         // PEM: who we are; "": nobody
  std::string key;          // PEM
  TlsVersion min_version = TlsVersion::v1_2;

  bool operator==(const ClientTlsOptions&) const = default;
};

}  // namespace oncekey::http
