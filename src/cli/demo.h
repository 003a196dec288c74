// `oncekey demo`: a sample upstream, the gateway before it, and a tour of what the gateway does.
#pragma once

namespace oncekey::cli {

// `argv[0]` is the command's own name. Returns the exit code.
int run_demo(int argc, char** argv);

}  // namespace oncekey::cli
