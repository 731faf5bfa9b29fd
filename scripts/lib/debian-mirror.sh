# shellcheck shell=bash disable=SC2016
# Sourced by the scripts that fetch from Debian.

# The mirror from which this machine has its own packages, if they are of the suite $1; else nothing.
mirror_of_this_machine() {
    apt-get indextargets --format '$(SITE) $(RELEASE)' 'Created-By: Packages' 2>/dev/null |
        awk -v suite="$1" '$2 == suite && !site { site = $1 } END { print site }'
}
