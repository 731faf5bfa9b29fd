# For scripts that source this file in the checkout. Sets `version`: the workspace's.
# shellcheck disable=SC2034 # Who sources this file reads it.
version=$(sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml | head -n 1)
