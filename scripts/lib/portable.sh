# Builds what is packed, for scripts that source this file in the checkout. Sets `target`, `version`, and `glibc`: the oldest with
# which it runs.
target=${CARGO_TARGET_DIR:-target}
scripts/build
# shellcheck disable=SC2034 # Who sources this file reads both.
source scripts/lib/version.sh
# shellcheck disable=SC2034
glibc=$(scripts/glibc-needed "$target"/release/{mel,libmel.so,libmpit_events.so})
