# shellcheck shell=bash
# Sourced by the scripts that start a launcher of Open MPI or MPICH over nodes made of namespaces: each has a network, a host name, a
# table of processes and a /dev/shm of its own. They end with their first process, that with the script, and nothing is left.
#
# A script sets these, and then calls `virtual_nodes "$@"`:
#
#   self           its own path: it is called again inside of the namespaces
#   nodes          the names of the nodes; each begins with node-
#   addresses      a function: lines of /etc/hosts with all names, that of the head, mel-head, too
#   before_nodes   a function that runs in the head's network before there is a node
#   connect        a function: gives node $1, whose first process is $2 and whose number is $3 (from 1 on), its network
#   after_nodes    a function that runs when all nodes are there
#
# MPIRUN names the launcher (mpirun.openmpi, else mpirun; or the mpiexec of an MPICH that has libfabric). It runs on a node of its own,
# the head, where all links come together. HOSTS_OF_RANKS names a file with the nodes of the ranks: a line for each rank (Open MPI), or a
# list of hosts with numbers of ranks (MPICH).

# What the launcher calls in place of ssh: enters a node.
on() {
    local pid=MEL_PID_${1//-/_}
    shift
    exec nsenter --target "${!pid}" --net --uts --mount --pid --wd="$PWD" -- sh -c "$*"
}

# Makes new namespaces and runs the rest of this script in them. They end with their first process, that with us.
in_namespaces() {
    local root=()
    [ "$(id -u)" -eq 0 ] || root=(--map-root-user)
    unshare "${root[@]}" --net --uts --mount --pid --fork --kill-child --mount-proc "$@"
}

be_host() {
    hostname "$1"
    ip link set lo up
    mount -t tmpfs -o mode=1777 shm /dev/shm
}

# As on real nodes the names are known, in the nodes that are made from here too: who looks for one (libotf2 does, in gethostid)
# would wait half a minute.
know_names() {
    local hosts
    hosts=$(mktemp)
    { echo '127.0.0.1 localhost' && addresses; } >"$hosts"
    mount --bind "$hosts" /etc/hosts
    rm "$hosts"
}

# The first process of a node: says that it is there, and stays.
be_node() {
    be_host "$1"
    echo ready
    exec >/dev/null
    while true; do sleep 3600; done
}

# Where all links come together: makes the nodes, and runs a command.
be_head() {
    local node ready pid number=0
    be_host mel-head
    know_names
    before_nodes
    for node in "${nodes[@]}"; do
        number=$((number + 1))
        exec 3< <(in_namespaces "$self" --node "$node" </dev/null)
        # Its first process is the child of unshare, which is the child of the shell behind the pipe.
        read -r ready <&3 && [ "$ready" = ready ]
        pid=$(first_process $!)
        connect "$node" "$pid" "$number"
        export "MEL_PID_${node//-/_}=$pid"
    done
    after_nodes
    "$@"
}

# Gives the node whose first process is $1 an interface $2 with address $3, whose other end, in the head's network, is called $4.
plug_in() {
    ip link add "$4" type veth peer name "$2" netns "$1"
    ip link set "$4" up
    nsenter --target "$1" --net ip address add "$3" dev "$2"
    nsenter --target "$1" --net ip link set "$2" up
    # A program may look for the device before the kernel says that it is there.
    until [[ $(nsenter --target "$1" --net ip link show dev "$2") == *"state UP"* ]]; do sleep 0.02; done
}

# The process among the descendants of $1, each of which has one child, that is the first of a node.
first_process() {
    local pid=$1
    until [ "$(readlink "/proc/$pid/ns/pid")" != "$(readlink /proc/self/ns/pid)" ]; do
        pid=$(tr -d ' ' <"/proc/$pid/task/$pid/children")
    done
    echo "$pid"
}

check() {
    local command said
    for command in ip unshare nsenter "$@"; do
        command -v "$command" >/dev/null || { echo "$command is not installed"; exit 1; }
    done
    said=$(in_namespaces "$self" --head true 2>&1) ||
        { echo "namespaces are not allowed here: $(tail -n 1 <<<"$said")"; exit 1; }
}

launch() {
    local hosts mpirun=${MPIRUN:-$(command -v mpirun.openmpi || command -v mpirun)}
    if [[ $("$mpirun" --version 2>/dev/null) == *HYDRA* ]]; then
        # Over TCP with UCX, MPICH does not end every time: libfabric it is.
        export MPIR_CVAR_CH4_NETMOD=ofi FI_PROVIDER=tcp
        hosts=$(IFS=, && echo "${nodes[*]}")
        local where=(-hosts "$hosts" -ppn 1)
        [ -z "${HOSTS_OF_RANKS:-}" ] || where=(-f "$HOSTS_OF_RANKS")
        in_namespaces "$self" --head "$mpirun" -launcher rsh -launcher-exec "$self" -localhost mel-head \
            "${where[@]}" "$@"
    else
        printf -v hosts '%s:4096,' "${nodes[@]}"
        local where=(--host "${hosts%,}" --map-by node)
        [ -z "${HOSTS_OF_RANKS:-}" ] || where=(--hostfile "$HOSTS_OF_RANKS" --map-by seq)
        # Its temporary files are those of each node, too: the names that it gives them would be the same in every run.
        in_namespaces "$self" --head "$mpirun" --mca plm_rsh_agent "$self --on" --mca orte_tmpdir_base /dev/shm \
            "${where[@]}" --oversubscribe --bind-to none "$@"
    fi
}

virtual_nodes() {
    local role=${1:-}
    case "$role" in
    --on) shift && on "$@" ;;
    --node) shift && be_node "$@" ;;
    --head) shift && be_head "$@" ;;
    --check) check ;;
    node-*) on "$@" ;; # Hydra's launcher is one word
    *) launch "$@" ;;
    esac
}
