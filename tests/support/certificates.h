// An authority that lives as long as a test, and the certificates it issues. All as PEM.
#pragma once

#include <memory>
#include <string>
#include <vector>

struct evp_pkey_st;
struct x509_st;

namespace oncekey::test {

struct Issued {
  std::string certificate;
  std::string key;
};

struct CertificateRequest {
  std::string common_name = "localhost";
  std::vector<std::string> alternatives = {"DNS:localhost", "IP:127.0.0.1"};  // "URI:spiffe://…"
  bool expired = false;
};

class Authority {
 public:
  explicit Authority(const std::string& name = "test authority");

  Issued issue(const CertificateRequest& request = {}) const;
  const std::string& certificate() const { return pem_; }

 private:
  std::shared_ptr<evp_pkey_st> key_;
  std::shared_ptr<x509_st> certificate_;
  std::string pem_;
};

}  // namespace oncekey::test
