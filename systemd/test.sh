#!/usr/bin/env bash
# Runs resumed under a booted systemd and checks what the units promise: start,
# reload, watchdog, restart, agents that live on, install and uninstall; and what becomes of a session
# that a restart of the machine cuts off.
#
# It needs root, mmdebstrap, systemd-nspawn and Debian's packages, and a minute and a half,
# most of which it waits. A tree that ROOTFS names is used again, and made where it is missing
# (half a minute more). With PACKAGE,
# a deb, and LATER, the same with a later version, it also goes through a package's life.
set -euo pipefail
cd "$(dirname "$0")/.."

work=$(mktemp -d /var/tmp/resumed-systemd-XXXXXX)
rootfs=${ROOTFS:-$work/rootfs}
suite=${SUITE:-trixie}
container='' init=''

fail() {
    echo "FAILED: $*" >&2
    if [[ -n $init ]]; then
        # The manager of the machine shows what the test saw last.
        alice 'systemctl --user status resumed --no-pager -n 40' >&2 || true
        inside journalctl --no-pager -n 40 >&2 || true
    fi
    exit 1
}

step() { printf '== %s\n' "$*"; }

tidy() {
    if [[ -n $container ]] && kill -0 "$container" 2>/dev/null; then
        [[ -z $init ]] || inside systemctl poweroff --force 2>/dev/null || true
        for _ in $(seq 50); do kill -0 "$container" 2>/dev/null || break; sleep 0.2; done
        kill "$container" 2>/dev/null || true
        wait "$container" 2>/dev/null || true
    fi
    rm -rf --one-file-system "$work"
}
trap tidy EXIT

# inside runs a command as root in the machine, alice a line of shell as its user.
inside() { nsenter -t "$init" -m -u -i -n -p -- env -i PATH=/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin "$@"; }
alice() {
    inside setpriv --reuid 1000 --regid 1000 --clear-groups env HOME=/home/alice USER=alice LOGNAME=alice \
        XDG_RUNTIME_DIR=/run/user/1000 PATH="/home/alice/node/bin:/usr/local/bin:/usr/bin:/bin" sh -c "cd; $1"
}
property() { alice "systemctl --user show -P $1 resumed.service"; }

# until_true waits for a condition, as long as a busy machine needs: until_true DESCRIPTION COMMAND…
until_true() {
    local what=$1 deadline=$((SECONDS + 90))
    shift
    until "$@" >/dev/null 2>&1; do
        ((SECONDS < deadline)) || fail "waited 90s in vain: $what"
        sleep 0.2
    done
}
is() { [[ $("${@:2}" 2>/dev/null) == "$1" ]]; }
says() { "${@:2}" 2>/dev/null | grep -- "$1" >/dev/null; } # all is read: a pipe that is cut is a failure
session_is() { says "\"id\":\"$1\"[^}]*\"state\":\"$2\"" alice 'resumed status --json'; }

step "the machine"
((EUID == 0)) || { echo "this test boots a machine: it needs root" >&2; exit 1; }
for program in mmdebstrap systemd-nspawn nsenter unshare setpriv; do
    command -v "$program" >/dev/null || { echo "$program is missing: apt-get install mmdebstrap systemd-container util-linux" >&2; exit 1; }
done
if [[ ! -e $rootfs/usr/bin/systemctl ]]; then
    mmdebstrap --variant=minbase --include=systemd,systemd-sysv,dbus,libpam-systemd,dbus-user-session,procps \
        "$suite" "$rootfs" >"$work/mmdebstrap.log" 2>&1 || { tail "$work/mmdebstrap.log" >&2; exit 1; }
fi
CGO_ENABLED=0 go build -trimpath -o "$rootfs/usr/local/bin/" ./cmd/resumed ./cmd/resumed-hub
CGO_ENABLED=0 go test -c -trimpath -o "$rootfs/usr/local/bin/runner.test" ./internal/runner
chroot "$rootfs" sh -c 'id alice >/dev/null 2>&1 || useradd -m -u 1000 -s /bin/sh alice'
rm -rf "$rootfs"/home/alice "$rootfs"/etc/systemd/system/resumed@* "$rootfs"/etc/systemd/system/multi-user.target.wants/resumed@*
mkdir -p "$rootfs"/var/lib/systemd/linger "$rootfs"/home/alice/{node/bin,bot/logs,.config/resumed} "$rootfs"/var/log/journal
touch "$rootfs/var/lib/systemd/linger/alice"

# An agent that only the PATH of the shell finds, as one that npm installed.
cat >"$rootfs/home/alice/node/bin/mybot" <<'END'
#!/bin/sh
echo "$1 pid=$$ $(grep NoNewPrivs /proc/self/status | tr -d '\t')" >>calls
while [ ! -e "go-$1" ]; do sleep 0.1; done
echo "step 2" >>"logs/$1.log"
END
# A Claude Code whose session was stopped before there was a daemon.
early=0b6b1a62-1f8e-4a3b-9d5b-0a6de1f3c001
mkdir -p "$rootfs/home/alice/.claude/projects/-bot"
record() { printf '{"sessionId":"%s","cwd":"/home/alice/bot","version":"2.1.325","timestamp":"%s",%s}\n' "$early" "$(date -u +%FT%T.000Z)" "$1"; }
says_text() { printf '"type":"%s","message":{"role":"%s","model":"m","content":[{"type":"text","text":"%s"}]}' "$1" "$1" "$2"; }
{
    record "$(says_text user work)"
    record "$(says_text assistant 'API Error: Request rejected (429)'),\"isApiErrorMessage\":true,\"error\":\"rate_limit\",\"apiErrorStatus\":429"
} >"$rootfs/home/alice/.claude/projects/-bot/$early.jsonl"
cat >"$rootfs/home/alice/node/bin/claude" <<END
#!/bin/sh
echo "\$*" >>claude-calls
write() { sed "s/20[0-9-]*T[0-9:]*/\$(date -u +%FT%T)/; s/$early/\$1/" >>/home/alice/.claude/projects/-bot/\$1.jsonl; }
if [ "\$1" = --unfinished ]; then
    {
        sleep 1 # until the process below has its name
        mkdir -p /home/alice/.claude/sessions
        printf '{"pid":%d,"sessionId":"%s","cwd":"/home/alice/bot","startedAt":%s000,"procStart":"%s","version":"2.1.325","pidDomain":"linux:%s:%s","kind":"interactive","entrypoint":"sdk-cli","status":"busy"}' \
            \$\$ \$2 \$(date +%s) \$(cut -d' ' -f22 /proc/\$\$/stat) \$(cat /etc/machine-id) \$(readlink /proc/\$\$/ns/pid) >/home/alice/.claude/sessions/\$\$.json
        echo '$(record "$(says_text user work)")' | write \$2
        echo '$(record '"type":"assistant","message":{"role":"assistant","model":"m","stop_reason":"tool_use","content":[{"type":"tool_use","id":"t1","name":"Bash","input":{"command":"make"}}]}')' | write \$2
    } &
    exec bash -c 'exec -a claude sleep infinity'
fi
echo '$(record "$(says_text assistant done)")' | write "\$(echo "\$*" | sed 's/.*--resume \([^ ]*\).*/\1/')"
END
chmod 755 "$rootfs"/home/alice/node/bin/*
cat >"$rootfs/home/alice/.config/resumed/resumed.toml" <<'END'
[[agent]]
name = "mybot"
kind = "custom"
files = ["~/bot/logs/*.log"]
session = '([^/]+)\.log$'
cwd = "~/bot"
limit = ['rate limited, retry in (?P<after>\S+)']
progress = ['^step ']
resume = ["mybot", "{session}"]
env = ["LANG=C"] # which the daemon has, too
END
cp "$rootfs/home/alice/.config/resumed/resumed.toml" "$work/good.toml"
chroot "$rootfs" chown -R alice:alice /home/alice

# boot starts the machine; boot SECONDS lets it be up for that long already.
boot() {
    local up=(env)
    [[ -z ${1:-} || ! -e /proc/self/ns/time ]] || up=(unshare --time --boottime $(($1 - $(cut -d. -f1 /proc/uptime))))
    # nspawn wants one tree of control groups, and a place of its own in it.
    unshare -m --propagation private bash -c '
        set -e
        if [[ $(stat -fc %T /sys/fs/cgroup) != cgroup2fs ]]; then
            umount -R /sys/fs/cgroup
            mount -t cgroup2 cgroup2 /sys/fs/cgroup
        fi
        mkdir -p /sys/fs/cgroup/resumed-test
        echo $$ >/sys/fs/cgroup/resumed-test/cgroup.procs
        exec "${@:2}" systemd-nspawn -q --register=no --keep-unit -D "$1" --private-network --console=pipe -b
    ' boot "$rootfs" "${up[@]}" >"$work/console.log" 2>&1 </dev/null &
    container=$!
    until_true "the machine has an init" find_init
    find_init
    until_true "the machine is up" says 'running\|degraded' inside systemctl is-system-running
    until_true "alice has a service manager" is active inside systemctl is-active user@1000.service
}
find_init() { init=$(pgrep -P "$container" -x systemd) && [[ -n $init ]]; }
boot
inside systemctl --version | head -n 1

step "commands under a real manager"
alice 'systemd-run --user --quiet --wait --pipe --collect /usr/local/bin/runner.test -test.v' >"$work/runner.log" 2>&1 ||
    fail "the tests of the runner: $(grep -v '^=== \|^--- PASS' "$work/runner.log")"
grep -q '^--- PASS: TestACommandIsAUnitOfItsOwn' "$work/runner.log" || fail "the tests of the runner saw no manager"
units() { alice "systemctl --user list-units --all --plain --no-legend 'resumed-*'"; }
[[ -z $(units) ]] || fail "units were left behind: $(units)"

step "install"
alice 'resumed install' >"$work/install.log" || fail "install: $(cat "$work/install.log")"
grep -q '^wrote ' "$work/install.log" || fail "install does not say what it wrote: $(cat "$work/install.log")"
grep -q "^  ${early:0:4}.* in /home/alice/bot$" "$work/install.log" || fail "install does not list the session that was stopped before: $(cat "$work/install.log")"
grep -q '^  resumed retry --unseen$' "$work/install.log" || fail "install does not say how it is continued: $(cat "$work/install.log")"
alice 'test ! -e bot/claude-calls' || fail "it was continued without a word of alice's"
alice 'resumed retry --unseen' >/dev/null || fail "retry --unseen"
until_true "the session that was stopped before is continued" says "--resume $early" alice 'cat bot/claude-calls'
until_true "it moves" session_is "$early" watching
is active property ActiveState || fail "the service is not active"
is notify-reload property Type || fail "the drop-in for reloads is not in force"
until_true "the status line tells" says watching property StatusText
alice 'resumed status' >/dev/null || fail "status does not answer"
says wrote alice 'resumed install' && fail "a second install wrote something"
[[ $(alice 'resumed doctor --json') == *'"ok":true'* ]] || fail "doctor: $(alice 'resumed doctor')"

step "who orders"
alice 'systemd-run --user --quiet --wait --pipe --collect resumed pause' >/dev/null || fail "a unit of alice's own cannot order"
alice 'systemd-run --user --quiet --wait --pipe --collect -p NoNewPrivileges=yes resumed unpause' >"$work/confined.log" 2>&1 && fail "a unit with fewer privileges can order"
grep -q 'from a sandbox or a container: run it in a terminal of your own' "$work/confined.log" || fail "it is not said why: $(cat "$work/confined.log")"
alice 'resumed unpause' >/dev/null || fail "unpause"

step "status line"
alice 'echo "rate limited, retry in 2h" >bot/logs/far.log'
until_true "the wait shows" says '^1 session waits, next at \([A-Z][a-z]* \)\?[0-2][0-9]:[0-5][0-9]$' property StatusText

step "reload"
cat "$work/good.toml" - >"$rootfs/home/alice/.config/resumed/resumed.toml" <<'END'
[http]
listen = "127.0.0.1:7733"
END
began=$(date +%s%N)
alice 'systemctl --user reload resumed' || fail "reload failed"
printf 'reloaded in %d ms\n' $((($(date +%s%N) - began) / 1000000))
until_true "the new configuration is in force" says '"http":"127.0.0.1:7733"' alice 'resumed status --json'
echo 'nonsense = 1' >>"$rootfs/home/alice/.config/resumed/resumed.toml"
alice 'systemctl --user reload resumed' || fail "a refused configuration must not end the reload badly"
until_true "the refusal shows" says 'has errors and is not used' property StatusText
is active property ActiveState || fail "a refused configuration ended the service"
cp "$work/good.toml" "$rootfs/home/alice/.config/resumed/resumed.toml"
alice 'systemctl --user reload resumed'
until_true "the mended configuration shows" says '^1 session waits' property StatusText

step "agents live on over a restart"
alice 'echo "rate limited, retry in 0s" >bot/logs/work.log'
until_true "the agent runs, found by the recorded PATH" says '^work pid=' alice 'cat bot/calls'
grep -q '^work .*NoNewPrivs:0' "$rootfs/home/alice/bot/calls" || fail "an agent cannot use sudo under this unit"
agent=$(sed -n 's/^work pid=\([0-9]*\).*/\1/p' "$rootfs/home/alice/bot/calls")
says '/resumed-[^/]*\.service$' inside cat "/proc/$agent/cgroup" || fail "the agent has no unit of its own"
before=$(property MainPID)
alice 'systemctl --user restart resumed'
[[ $(property MainPID) != "$before" ]] || fail "it was not restarted"
inside kill -0 "$agent" || fail "the agent died with the daemon"
until_true "the agent is known again" session_is work resuming
alice 'touch bot/go-work'
until_true "the session moves" session_is work watching
[[ $(grep -c '^work' "$rootfs/home/alice/bot/calls") == 1 ]] || fail "it was resumed twice"
[[ -z $(units) ]] || fail "units were left behind: $(units)"

step "restart after kill -9"
inside kill -9 "$(property MainPID)"
until_true "it is restarted" is 1 property NRestarts
until_true "it is up" is active property ActiveState
until_true "the wait is kept" session_is far waiting

step "restart after its state was removed"
alice 'rm -r .local/state/resumed'
until_true "it ends and is restarted" is 2 property NRestarts
until_true "it is up" is active property ActiveState
until_true "the wait is found again" session_is far waiting

step "watchdog"
alice 'mkdir -p .config/systemd/user/resumed.service.d
    printf "[Service]\nWatchdogSec=3\nTimeoutAbortSec=3\n" >.config/systemd/user/resumed.service.d/test.conf
    systemctl --user daemon-reload && systemctl --user restart resumed'
before=$(property NRestarts)
sleep 5
[[ $(property NRestarts) == "$before" ]] || fail "the watchdog bit a daemon that works"
inside kill -STOP "$(property MainPID)"
until_true "the watchdog bites and it is restarted" is $((before + 1)) property NRestarts
until_true "it is up" is active property ActiveState
says "result 'watchdog'" inside journalctl --no-pager || fail "the journal does not say that it was the watchdog"
until_true "the wait is kept" session_is far waiting
alice 'rm .config/systemd/user/resumed.service.d/test.conf; systemctl --user daemon-reload'

step "journal"
inside journalctl --no-pager -o json _SYSTEMD_USER_UNIT=resumed.service >"$work/journal.json"
grep -q '"PRIORITY":"6".*msg=watching\|msg=watching.*"PRIORITY":"6"' "$work/journal.json" || fail "information has another priority"
grep -q '"PRIORITY":"3".*refused\|refused.*"PRIORITY":"3"' "$work/journal.json" || fail "an error has another priority"

step "a configuration that is wrong is not tried again and again"
alice 'systemctl --user stop resumed; systemctl --user reset-failed resumed # it was started often
    echo "nonsense = 1" >>.config/resumed/resumed.toml; systemctl --user start resumed' 2>/dev/null || true
until_true "it gives up" is failed property ActiveState
is exit-code property Result || fail "it ended for another reason"
is 2 property ExecMainStatus || fail "it ended with another code"
sleep 6
is failed property ActiveState || fail "it was started again"
cp "$work/good.toml" "$rootfs/home/alice/.config/resumed/resumed.toml"
alice 'systemctl --user reset-failed resumed; systemctl --user start resumed'

step "uninstall"
alice 'echo "rate limited, retry in 0s" >bot/logs/late.log'
until_true "an agent runs" says '^late pid=' alice 'cat bot/calls'
agent=$(sed -n 's/^late pid=\([0-9]*\).*/\1/p' "$rootfs/home/alice/bot/calls")
alice 'rm -d .config/systemd/user/resumed.service.d/test.conf 2>/dev/null; resumed uninstall' >/dev/null || fail "uninstall"
inside kill -0 "$agent" || fail "the agent died with the service"
[[ -z $(alice 'ls -A .config/systemd 2>/dev/null') ]] || fail "something was left: $(alice 'find .config/systemd')"
alice 'resumed status' >/dev/null 2>&1 && fail "it still runs"

step "as a system service"
alice 'resumed install --system' | inside sh >/dev/null 2>&1 || fail "the printed script failed"
is active inside systemctl is-active resumed@alice.service || fail "resumed@alice is not active"
is alice inside ps -o user= -p "$(inside systemctl show -P MainPID resumed@alice.service)" || fail "it runs as somebody else"
alice 'touch bot/go-late'
until_true "alice sees her session move" session_is late watching
[[ $(grep -c '^late' "$rootfs/home/alice/bot/calls") == 1 ]] || fail "it was resumed twice"
alice 'touch bot/go-last; echo "rate limited, retry in 0s" >bot/logs/last.log'
until_true "a session is resumed" session_is last watching # it keeps its distance from the one before, over the restart
grep -q '^last .*NoNewPrivs:0' "$rootfs/home/alice/bot/calls" || fail "an agent cannot use sudo under this unit"
inside systemctl reload resumed@alice.service || fail "reload failed"
inside systemctl disable --now resumed@alice.service 2>/dev/null

step "the hub of a fleet"
cp systemd/resumed-hub.service "$rootfs/etc/systemd/system/"
inside rm -rf /var/lib/resumed-hub /var/lib/private/resumed-hub
inside resumed hub init --dir /var/lib/resumed-hub >"$work/line" 2>/dev/null || fail "hub init"
inside systemctl daemon-reload
inside systemctl start resumed-hub.service || fail "the hub does not start"
until_true "the hub is ready" says 'ready' inside journalctl --no-pager -u resumed-hub.service
is root inside ps -o user= -p "$(inside systemctl show -P MainPID resumed-hub.service)" && fail "the hub runs as root"
line=$(sed 's/^resumed fleet join //' "$work/line")
alice "echo '$line' | resumed fleet join - --name alice" >/dev/null || fail "alice cannot join"
says '^alice ' inside resumed hub list --dir /var/lib/resumed-hub || fail "the hub does not list alice"
line=$(inside resumed hub invite bob --dir /var/lib/resumed-hub 2>/dev/null | sed 's/^resumed fleet join //') # written by root, read by the hub
alice "mkdir -p bob && XDG_CONFIG_HOME=/home/alice/bob resumed fleet join '$line' --name bob" >/dev/null || fail "bob cannot join"
inside systemctl stop resumed-hub.service

step "the machine is restarted in the middle of a turn"
began=$SECONDS
restart() { # restart SESSION KEYS [SECONDS]
    cat "$work/good.toml" - >"$rootfs/home/alice/.config/resumed/resumed.toml" <<<"$2"
    alice 'systemctl --user reload resumed'
    alice "systemd-run --user --quiet --collect --working-directory=/home/alice/bot -E PATH=\"\$PATH\" claude --unfinished $1"
    until_true "its process is known" says 'with the variables' alice "resumed status $1"
    inside systemctl poweroff
    wait "$container" 2>/dev/null || true
    boot "${3:-}"
    until_true "the daemon is up" is active property ActiveState
}
alice 'resumed install' >/dev/null || fail "install"
told=0b6b1a62-1f8e-4a3b-9d5b-0a6de1f3c002 continued=0b6b1a62-1f8e-4a3b-9d5b-0a6de1f3c003
restart $told ''
until_true "it is told" says 'was cut off by a restart of the machine' alice 'resumed status'
says "resumed retry $told" alice 'resumed status' || fail "status does not say what continues it: $(alice 'resumed status')"
alice "resumed retry $told" >/dev/null || fail "retry"
until_true "retry continues it" says "--resume $told" alice 'cat bot/claude-calls'
until_true "it moves" session_is $told watching
restart $continued $'[resume]\ncut_off = "resume"\n[backoff]\nbase_delay = "1s"' 112
until_true "it is continued by itself" says "--resume $continued" alice 'cat bot/claude-calls'
up=$(nsenter -t "$init" -T cut -d. -f1 /proc/uptime)
((up >= 120)) || fail "it was continued when the machine had been up for $up s"
until_true "it moves" session_is $continued watching
[[ $(alice 'cat bot/claude-calls' | grep -c -- "--resume.*f3c00[23]") == 2 ]] || fail "it was continued twice: $(alice 'cat bot/claude-calls')"
alice 'resumed uninstall' >/dev/null || fail "uninstall"
printf 'in %d s\n' $((SECONDS - began))

if [[ -n ${PACKAGE:-} ]]; then
    step "a package: install"
    inside rm -rf /usr/local/bin/resumed /usr/local/bin/resumed-hub /etc/systemd/system/resumed-hub.service /var/lib/resumed-hub /var/lib/private/resumed-hub /etc/systemd/system/resumed@.service /etc/systemd/system/resumed@alice.service.d
    alice 'rm -rf .local/state/resumed bot/logs/* bot/calls bot/go-*'
    cp "$PACKAGE" "$rootfs/var/now.deb"
    cp "$LATER" "$rootfs/var/later.deb"
    package() { inside env DEBIAN_FRONTEND=noninteractive dpkg "$@" >>"$work/dpkg.log" 2>&1 || fail "dpkg $*: $(tail -n 20 "$work/dpkg.log")"; }
    package --install /var/now.deb
    inside test -x /usr/bin/resumed || fail "the program is not there"
    alice 'systemctl --user daemon-reload'
    [[ $(property ActiveState) == inactive ]] || fail "a package that is installed started something"
    is inactive inside systemctl is-active resumed@alice.service || fail "a package that is installed started something for alice"

    step "a package: its units"
    alice 'systemctl --user enable --now resumed' 2>/dev/null || fail "the user's unit does not start"
    is /usr/lib/systemd/user/resumed.service property FragmentPath || fail "another unit was started"
    says '^resumed ' alice 'resumed status' || fail "status does not answer"
    alice 'echo "rate limited, retry in 2h" >bot/logs/far.log'
    until_true "the wait shows" session_is far waiting

    step "a package: upgrade"
    before=$(property MainPID)
    package --install /var/later.deb
    until_true "the daemon is up" is active property ActiveState
    [[ $(property MainPID) != "$before" ]] || fail "the daemon was not started anew"
    until_true "the wait is kept" session_is far waiting
    alice 'systemctl --user disable --now resumed' 2>/dev/null
    inside systemctl enable --now resumed@alice.service 2>/dev/null || fail "the system's unit does not start"
    until_true "alice's own status finds it" session_is far waiting
    before=$(inside systemctl show -P MainPID resumed@alice.service)
    package --install /var/later.deb
    is active inside systemctl is-active resumed@alice.service || fail "it is down after an upgrade"
    [[ $(inside systemctl show -P MainPID resumed@alice.service) != "$before" ]] || fail "the daemon was not started anew"
    is inactive property ActiveState || fail "an upgrade started what was stopped"

    step "a package: remove, purge"
    package --remove resumed
    is inactive inside systemctl is-active resumed@alice.service || fail "it runs on"
    inside test -e /etc/resumed/resumed.toml || fail "the configuration went before a purge"
    package --purge resumed
    left=$(inside find / -xdev -name '*resumed*' -not -path '/proc/*' -not -path '/home/*' -not -path '/var/log/*' -not -path '/run/*' -not -path '/usr/local/bin/*')
    [[ -z $left ]] || fail "purge left: $left"
    inside test -e /home/alice/.local/state/resumed/resumed.db || fail "purge took what is alice's"
    inside rm -f /var/now.deb /var/later.deb
fi

echo "all is well"
