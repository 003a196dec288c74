# Who may include whom. Each folder of src/ lists the folders of ours and the libraries it may name.
# Reads sources; prints file:line: reason; exits 1 when it printed anything.

BEGIN {
  # "std" is the C++ library, "posix" the system's C headers.
  may["include"] = "std oncekey"
  may["boundary"] = "std oncekey boundary simdjson openssl zstd"
  may["transaction"] = "std posix oncekey boundary transaction libpq sqlite openssl"
  may["workflow"] = "std oncekey boundary workflow openssl"
  may["store"] = "std posix oncekey boundary transaction store rocksdb libpq hiredis sqlite openssl"
  may["http"] = "std posix oncekey http openssl"
  may["client"] = "std posix oncekey http client openssl"
  may["verify"] = "std posix oncekey boundary http client verify simdjson"
  may["outbox"] = "std posix oncekey boundary transaction store http outbox libpq sqlite rdkafka openssl simdjson"
  may["recovery"] = "std posix oncekey boundary store http outbox recovery openssl simdjson"
  may["identity"] = "std posix oncekey boundary identity openssl simdjson"
  may["gateway"] = "std posix oncekey boundary identity store http recovery outbox gateway prometheus openssl simdjson tomlplusplus"
  may["admin"] = may["gateway"] " admin"
  may["audit"] = "std oncekey boundary http verify gateway audit yaml"
  may["cli"] = may["admin"] " client verify audit cli cli11"
  may["tests"] = "std posix oncekey boundary identity transaction workflow client verify audit store http recovery outbox gateway admin support openssl simdjson zstd gtest rapidcheck rocksdb libpq hiredis sqlite rdkafka"
  may["bench"] = "std posix oncekey boundary store http gateway libpq"
  # A library that only one place may know, so that it can be replaced there.
  only["rocksdb"] = "^(src/store|tests/contract)/"  # the contract suite makes its files fail
  only["libpq"] = "^(src/store|src/transaction|src/outbox|tests|bench)/"
  only["sqlite"] = "^(src/store|src/transaction|src/outbox|tests)/"
  only["rdkafka"] = "^(src/outbox|tests)/"
  only["hiredis"] = "^(src/store|tests/support)/"
  only["tomlplusplus"] = "^src/gateway/config_file\\.cc$"
  only["yaml"] = "^src/audit/yaml\\.cc$"
  only["cli11"] = "^src/cli/"
}

function folder_of(file) {
  if (file ~ /^include\//) return "include"
  if (file ~ /^src\//) { split(file, part, "/"); return part[2] }
  if (file ~ /^tests\//) return "tests"
  if (file ~ /^bench\//) return "bench"
  return ""
}

# The name under which an #include <…> or "…" appears in the table.
function name_of(header) {
  if (header ~ /^rocksdb\//) return "rocksdb"
  if (header ~ /^(libpq-fe|libpq-events|pg_config)\.h$|^postgresql\//) return "libpq"
  if (header ~ /^hiredis\//) return "hiredis"
  if (header ~ /^sqlite3\.h$/) return "sqlite"
  if (header ~ /^librdkafka\//) return "rdkafka"
  if (header ~ /^CLI\//) return "cli11"
  if (header ~ /^toml(\+\+|plusplus)/) return "tomlplusplus"
  if (header ~ /^yaml-cpp\//) return "yaml"
  if (header ~ /^prometheus\//) return "prometheus"
  if (header ~ /^openssl\//) return "openssl"
  if (header ~ /^simdjson/) return "simdjson"
  if (header ~ /^zstd/) return "zstd"
  if (header ~ /^(gtest|gmock)\//) return "gtest"
  if (header ~ /^rapidcheck/) return "rapidcheck"
  if (header ~ /^(boost|spdlog|fmt|absl|nlohmann)[\/.]/) return "a library that is not in use"
  return header ~ /[.\/]/ ? "posix" : "std"
}

function place(pattern) { gsub(/[\\^$()]/, "", pattern); return pattern }

function complain(reason) { print FILENAME ":" FNR ": " reason; bad = 1 }

function allowed(name) { return index(" " may[folder] " ", " " name " ") > 0 }

FNR == 1 {
  folder = folder_of(FILENAME)
  if (folder != "" && !(folder in may)) complain("folder " folder " has no row in tools/lint_includes.awk")
  is_test = FILENAME ~ /_test\.cc$/
}

/^[ \t]*#[ \t]*include[ \t]*[<"]/ && (folder in may) {
  header = $0
  sub(/^[^<"]*[<"]/, "", header)
  sub(/[>"].*/, "", header)
  if ($0 ~ /</) {
    name = name_of(header)
  } else {
    name = header
    if (header ~ /^\.\.?\//) complain("include by folder name, not by relative path: " header)
    if (header !~ /\//) {
      if (folder !~ /^(tests|bench)$/) complain("include \"folder/" header "\", so that a reader sees where it lives")
      next
    }
    sub(/\/.*/, "", name)
    if (name ~ /^(contract|e2e|crash|payments|sim|fuzz|vectors|http)$/ && folder == "tests") next
    if (name == "simdjson" || name == "rocksdb" || name == "prometheus") complain("a library's header takes <>: " header)
  }
  if (name == "cli" && folder != "cli") { complain("nothing includes cli/: it is the outermost layer"); next }
  if ((name in only) && FILENAME !~ only[name]) { complain(header " may be included only in " place(only[name])); next }
  if (is_test && name ~ /^(gtest|rapidcheck|support)$/) next
  if (is_test && name == "posix") next
  if (!allowed(name) && !allowed(header)) complain(folder "/ may not include " header " (may: " may[folder] ")")
}

# boundary/ decides from what it is given: no threads, no clock.
folder == "boundary" && !is_test && /<(thread|mutex|condition_variable|future|filesystem|fstream|iostream)>|(system|steady)_clock::now/ {
  complain("boundary/ is pure: no threads, files or clock reads")
}

END { exit bad }
