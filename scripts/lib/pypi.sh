# Packages of the Python package index, for scripts that source this file: each in a virtual environment of its own,
# ~/.cache/mel/pypi-NAME-VERSION.
#
# The script sets `me` (its name), `names` (its packages, in order), `versions` (by name), `without` (what the tests do without one
# of them) and maybe `alone` (those of which nothing but their files is wanted, and so none of what they need), and calls `pypi "$@"`:
#
#   pypi                  installs all, or does nothing where they are there already
#   pypi --prefix NAME    prints where one is or would be
cache=${XDG_CACHE_HOME:-$HOME/.cache}/mel

prefix_of() { echo "$cache/pypi-$1-${versions[$1]}"; }

install_package() {
    local name=$1 prefix log=$cache/$me.log
    prefix=$(prefix_of "$name")
    [ -e "$prefix/.complete" ] && return
    echo "$me: installing $name ${versions[$name]} into $prefix"
    mkdir -p "$cache"
    if rm -rf "$prefix" && python3 -m venv "$prefix" &&
        "$prefix/bin/python" -m pip install --disable-pip-version-check --only-binary :all: \
            $([[ " ${alone[*]:-} " == *" $name "* ]] && echo --no-deps) "$name==${versions[$name]}"; then
        touch "$prefix/.complete"
    else
        return 1
    fi >"$log" 2>&1 || { tail -n 20 "$log" >&2; return 1; }
}

pypi() {
    local name status=0
    case "${1:-}" in
    "")
        for name in "${names[@]}"; do
            install_package "$name" || { echo "$me: $name could not be installed: $without" >&2; status=1; }
        done
        exit "$status"
        ;;
    --prefix)
        [ -n "${versions[${2:-none}]:-}" ] && prefix_of "$2" && exit
        ;;
    esac
    echo "usage: scripts/$me [--prefix $(IFS='|'; echo "${names[*]}")]" >&2
    exit 2
}
