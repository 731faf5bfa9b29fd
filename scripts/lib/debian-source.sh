# Sourced by the scripts that build an MPI from Debian's source package, configured otherwise than Debian does.
#
# A script sets these, and then calls `debian_source_main "$@"`:
#
#   program        its own name, for what it prints and for its log
#   source_package the name of Debian's source package
#   version        the upstream version that the source package must have
#   prefix_name    what the folder below ~/.cache/mel is called
#   purpose        what tests go without where it cannot be built
#   minutes        how long a build takes
#   packages       Debian packages that the build needs
#   configuration  arguments of configure
#
# The machine's own package sources are not changed. The compiler and the other packages that are missing come from
# apt-get, through sudo when not root. JOBS says how many compilers run at once; as many as there are processors if it
# is not set.

# shellcheck source=scripts/lib/debian-mirror.sh
. "$(dirname "${BASH_SOURCE[0]}")/debian-mirror.sh"

suite=bookworm
cache=${XDG_CACHE_HOME:-$HOME/.cache}/mel

say() { echo "$program: $*"; }

as_root() {
    if [ "$(id -u)" -eq 0 ]; then
        "$@"
    elif command -v sudo >/dev/null; then
        sudo "$@"
    else
        say "not root and no sudo; as root, run: $*" >&2
        return 1
    fi
}

install_packages() {
    local package missing=()
    for package in "${packages[@]}"; do
        [ "$(dpkg-query -W -f='${db:Status-Status}' "$package" 2>/dev/null || true)" = installed ] || missing+=("$package")
    done
    [ "${#missing[@]}" -eq 0 ] && return
    say "installing ${missing[*]}"
    local install=(env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}")
    as_root "${install[@]}" >>"$log" 2>&1 || { as_root apt-get update -qq >>"$log" 2>&1 && as_root "${install[@]}" >>"$log" 2>&1; }
}

# Downloads and unpacks the source package into the working directory, with package lists of our own.
fetch_source() {
    mkdir -p apt/lists/partial apt/archives/partial
    # From where the machine has its own packages, if it is of this suite.
    local mirror
    mirror=$(mirror_of_this_machine "$suite")
    echo "deb-src [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] ${mirror:-http://deb.debian.org/debian} $suite main" >apt/sources.list
    local own=(-o Dir::Etc::sourcelist="$PWD/apt/sources.list" -o Dir::Etc::sourceparts=-
        -o Dir::State::lists="$PWD/apt/lists" -o Dir::Cache="$PWD/apt" -o APT::Sandbox::User=)
    apt-get "${own[@]}" update
    apt-get "${own[@]}" source --download-only "$source_package"
    dpkg-source -x "$source_package"_"$version"-*.dsc source
    # Patches must not make the build believe that its generated files are out of date.
    find source -exec touch -r source/configure {} +
}

build() {
    mkdir objects
    cd objects
    ../source/configure --prefix="$prefix" "${configuration[@]}"
    make -j"${JOBS:-$(nproc)}"
    rm -rf "$prefix"
    make install
}

phase() {
    say "$1"
    shift
    ("$@") >>"$log" 2>&1 || { tail -n 20 "$log" >&2; say "this failed; all that was printed is in $log" >&2; exit 1; }
}

make_it() {
    local stamp=$prefix/.complete
    [ "$(cat "$stamp" 2>/dev/null)" = "${configuration[*]}" ] && return
    if ! command -v apt-get >/dev/null; then
        say "this system has no apt-get; the tests go on without $purpose" >&2
        return
    fi
    mkdir -p "$cache"
    log=$cache/$program.log
    : >"$log"
    work=$(mktemp -d)
    trap 'rm -rf "$work"' EXIT
    cd "$work"
    install_packages
    phase "fetching the source package of $source_package $version" fetch_source
    phase "building it; this takes $minutes minutes (log: $log)" build
    echo "${configuration[*]}" >"$stamp"
    say "ready in $prefix"
}

debian_source_main() {
    prefix=$cache/$prefix_name
    case "${1:-}" in
    "") make_it ;;
    --prefix) echo "$prefix" ;;
    *)
        echo "usage: scripts/$program [--prefix]" >&2
        exit 2
        ;;
    esac
}
