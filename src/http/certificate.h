// What stands in a certificate.
#pragma once

#include <openssl/x509.h>

#include <string>

#include "http/peer_certificate.h"

namespace oncekey::http {

PeerCertificate read_certificate(const X509& certificate);
bool certificate_is_over(const X509& certificate);  // by now
// "CN=api.example, valid until Nov 16 06:00:00 2027 GMT"
std::string describe_certificate(const X509& certificate);

}  // namespace oncekey::http
