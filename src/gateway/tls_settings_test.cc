#include "gateway/tls_settings.h"

#include <gtest/gtest.h>

#include "gateway/config_file.h"

namespace oncekey::gateway {
namespace {

Result<LoadedConfig, ConfigErrors> load(const std::string& text) {
  return parse_config("upstream = \"https://127.0.0.1:3000\"\n" + text, "f.toml");
}

std::string first_error(const std::string& text) {
  const auto loaded = load(text);
  return loaded ? "" : to_string(loaded.error().at(0));
}

std::string warnings(const std::string& text) {
  std::string all;
  const auto loaded = load(text);
  if (!loaded) return to_string(loaded.error().at(0));
  for (const ConfigError& warning : loaded->warnings) all += to_string(warning) + "\n";
  return all;
}

TEST(TlsSettings, AreRead) {
  const auto loaded = load(R"([tls]
cert = "c.pem"
key = "k.pem"
client_ca = "ca.pem"
client_certificates = "optional"
min_version = "1.3"
[upstream_tls]
ca = "up.pem"
server_name = "api.example"
cert = "own.pem"
key = "own.key"
)");
  ASSERT_TRUE(loaded) << to_string(loaded.error().at(0));
  const http::ServerTlsOptions clients{"c.pem", "k.pem", "ca.pem",
                                       http::ClientCertificates::optional, http::TlsVersion::v1_3};
  EXPECT_EQ(loaded->config.tls, clients);
  const http::ClientTlsOptions upstream{"up.pem",  true,      "api.example",
                                        "own.pem", "own.key", http::TlsVersion::v1_2};
  EXPECT_EQ(loaded->config.upstream_tls, upstream);
}

TEST(TlsSettings, DefaultsAreSafe) {
  const auto loaded = load("");
  EXPECT_FALSE(loaded->config.tls.enabled());
  EXPECT_TRUE(loaded->config.upstream_tls.verify);
}

TEST(TlsSettings, HalvesAreRefused) {
  EXPECT_EQ(first_error("[tls]\ncert = \"c\"\n"),
            "f.toml:3:8: tls.cert: its key is missing\n  hint: key = \"key.pem\"");
  EXPECT_EQ(
      first_error("[upstream_tls]\nkey = \"k\"\n"),
      "f.toml:3:7: upstream_tls.key: its certificate is missing\n  hint: cert = \"cert.pem\"");
  EXPECT_EQ(first_error("[tls]\ncert = \"c\"\nkey = \"k\"\nclient_certificates = \"required\"\n"),
            "f.toml:5:23: tls.client_certificates: whose certificates are good?\n  hint: client_ca "
            "= \"clients.pem\", the authority that issues them");
  EXPECT_NE(first_error("[tls]\nmin_version = \"1.1\"\n").find("\"1.1\" is not one of"),
            std::string::npos);
  EXPECT_NE(first_error("[upstream_tls]\nserver_name = \"a b\"\n").find("is not a host's name"),
            std::string::npos);
}

TEST(TlsSettings, WhatHasNoEffectIsSaid) {
  EXPECT_NE(warnings("[tls]\nmin_version = \"1.3\"\n").find("no effect without tls.cert"),
            std::string::npos);
  EXPECT_NE(warnings("[tls]\ncert = \"c\"\nkey = \"k\"\nclient_ca = \"ca\"\n")
                .find("no effect without tls.client_certificates"),
            std::string::npos);
  const auto plain =
      parse_config("upstream = \"http://127.0.0.1:1\"\n[upstream_tls]\nca = \"x\"\n", "f.toml");
  EXPECT_NE(to_string(plain->warnings.at(0)).find("begins with https://"), std::string::npos);
}

TEST(TlsSettings, UnverifiedUpstreamIsWarnedOf) {
  EXPECT_NE(warnings("[upstream_tls]\nverify = false\n").find("can read and answer"),
            std::string::npos);
}

}  // namespace
}  // namespace oncekey::gateway
