# Sizes and words. Reads every tracked text; prints file:line: reason; exits 1 when it printed any.
# Patterns are written so that they do not match their own text ([/] for a slash).

function complain(reason) { print FILENAME ":" FNR ": " reason; bad = 1 }

function check_length() {
  if (name == "") return
  if (is_code && lines > 500) { print name ":501: a source file has at most 500 lines; look for the second idea"; bad = 1 }
  if (name ~ /^include\// && lines > 250) { print name ":251: a public header has at most 250 lines"; bad = 1 }
}

FNR == 1 {
  check_length()
  name = FILENAME
  is_code = name ~ /\.(h|cc|sh|py|lua|awk)$|^dev$|^tools\//
  is_test = name ~ /^tests\/|_test\.cc$/
  is_source = name ~ /\.(h|cc)$/
}

{ lines = FNR }

/(^|[^A-Za-z])(TOD[O]|FIXM[E]|XX[X])([^A-Za-z]|$)/ { complain("finish it or file an issue; no notes to self") }

# A test may poll a condition until a deadline, or let real time pass where that is what it tests
# and a comment on the line says so. It may not sleep in the hope that something has happened.
FNR == 1 { deadline_line = -100 }
/[Dd]eadline|limit/ { deadline_line = FNR }
is_test && is_source && name !~ /^tests\/support\// && !/\/\/ [a-z]/ && FNR - deadline_line > 6 &&
    /(sleep_fo[r]|sleep_unti[l]|usleep|nanosleep|[^a-z_]sleep)[ \t]*\(/ {
  complain("a test waits for what it needs, never for time (or says on that line why time is the point)")
}

{
  without_urls = $0
  gsub(/https?:[/][/][^ ]*/, "", without_urls)
}
without_urls ~ /[/](work|home|root|Users)[/]/ { complain("a path of one machine") }

/(pypi[.]org|registry[.]npmjs|crates[.]io|docker[.]io|ghcr[.]io|quay[.]io|deb[.]debian[.]org|security[.]debian[.]org|artifactor[y]|rubygems[.]org|proxy[.]golang)/ {
  complain("a package registry's host; the machine's own settings name it")
}

is_source && /[ \t]+$/ { complain("white space at the end of the line") }

# g++ 12 miscompiles these (use after free, double free): name a local first.
is_source && /co_await[^;]*( \? |\[[&=a-z_]*\][ \t]*[({])/ { complain("no ?: and no lambda inside a co_await expression") }

END { check_length(); exit bad }
