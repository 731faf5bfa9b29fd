# Builds what runs with older versions of glibc, too, for scripts that source this file in the checkout: linked apart, with
# scripts/older-glibc/cc. Sets `portable` (its target folder), `version`, and `glibc`: the oldest with which it runs.
portable=${CARGO_TARGET_DIR:-target}/portable
CARGO_TARGET_X86_64_UNKNOWN_LINUX_GNU_LINKER=$PWD/scripts/older-glibc/cc scripts/build --target-dir "$portable"
# shellcheck disable=SC2034 # Who sources this file reads both.
source scripts/lib/version.sh
# shellcheck disable=SC2034
glibc=$(scripts/glibc-needed "$portable"/release/{mel,libmel.so,libmpit_events.so})
