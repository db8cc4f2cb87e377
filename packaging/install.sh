#!/bin/sh
# Installs resumed for you alone: fetches the program of your system, checks its
# sum, and puts resumed and resumed-hub into ~/.local/bin, and the plugins for agents into
# ~/.local/share/resumed. It needs no root and changes nothing else.
# The sum comes from the same server: it proves that the download is complete, not who
# made it. That is the server's word, so it is asked by https alone.
#
#   curl -fsSL URL/install.sh | sh
#   sh install.sh [--from URL] [--to DIR]
#
# --from: where a release's files are (checksums.txt and the archives)
# --to:   another directory than ~/.local/bin; the plugins stay in the archive then
set -eu

base=''

fail() {
    echo "resumed: $1" >&2
    [ -z "${2:-}" ] || echo "Try: $2" >&2
    exit 1
}

# fetch URL FILE
fetch() {
    if command -v curl >/dev/null 2>&1; then
        curl -fsSL --proto-redir =https --retry 2 -o "$2" "$1" || fail "$1 cannot be fetched" "the same again, or another --from"
    elif command -v wget >/dev/null 2>&1; then
        wget -q -O "$2" "$1" || fail "$1 cannot be fetched" "the same again, or another --from"
    else
        fail "neither curl nor wget is here" "install one of them"
    fi
}

# sum FILE prints its SHA-256.
sum() {
    if command -v sha256sum >/dev/null 2>&1; then
        sha256sum "$1" | cut -d ' ' -f 1
    elif command -v shasum >/dev/null 2>&1; then
        shasum -a 256 "$1" | cut -d ' ' -f 1
    else
        fail "neither sha256sum nor shasum is here: nothing is installed that was not checked" "install coreutils or perl"
    fi
}

# platform prints the system and the processor, as archives are named.
platform() {
    case $(uname -s) in
    Linux) os=linux ;;
    Darwin) os=darwin ;;
    *) fail "it does not run on $(uname -s)" "the same on Linux or macOS, or in WSL" ;;
    esac
    case $(uname -m) in
    x86_64 | amd64) arch=amd64 ;;
    aarch64 | arm64) arch=arm64 ;;
    *) fail "there is no archive for $(uname -m)" "building it from its sources, with Go" ;;
    esac
    # A shell under Rosetta takes an M1 for an Intel.
    if [ "$os" = darwin ] && [ "$(sysctl -n sysctl.proc_translated 2>/dev/null || true)" = 1 ]; then arch=arm64; fi
    echo "${os}_$arch"
}

main() {
    to=${HOME:+$HOME/.local/bin} share=${HOME:+$HOME/.local/share/resumed}
    while [ $# -gt 0 ]; do
        case $1 in
        --from | --to)
            [ $# -gt 1 ] || fail "$1 needs a value"
            [ "$1" = --from ] && base=${2%/} || { to=$2 share=; }
            shift 2
            ;;
        *) fail "$1 is not known" "sh install.sh [--from URL] [--to DIR]" ;;
        esac
    done
    [ -n "$base" ] || fail "it is not known where to fetch it from" "--from URL, where checksums.txt is"
    case $base in
    https://* | http://127.0.0.1:* | http://localhost:*) ;; # what does not leave this machine is safe without
    *) fail "$base does not begin with https://: whoever is on the way could put another program in its place" "--from https://…" ;;
    esac
    [ -n "$to" ] || fail "HOME is not set" "--to DIR"
    system=$(platform)

    # First what can fail without a byte fetched.
    { mkdir -p "$to" && [ -w "$to" ]; } 2>/dev/null || fail "$to cannot be written" "--to DIR, a directory of yours that is in PATH"

    work=$(mktemp -d)
    new=$to/.resumed.$$ new_hub=$to/.resumed-hub.$$
    trap 'rm -rf "$work" "$new" "$new_hub"' EXIT
    trap 'exit 130' HUP INT TERM
    fetch "$base/checksums.txt" "$work/checksums.txt"
    line=$(grep "_$system\.tar\.gz\$" "$work/checksums.txt") || fail "$base/checksums.txt names no archive for $system" "another --from"
    [ "$(echo "$line" | wc -l)" -eq 1 ] || fail "$base/checksums.txt names several archives for $system" "another --from"
    wanted=${line%% *} archive=${line##* }
    fetch "$base/$archive" "$work/archive"
    got=$(sum "$work/archive")
    [ "$got" = "$wanted" ] || fail "$archive has the sum $got, and $wanted was promised: nothing was installed" "the same again; if it stays so, tell those who publish it"

    mkdir "$work/unpacked"
    tar -xzf "$work/archive" -C "$work/unpacked" || fail "$archive cannot be unpacked"
    set -- "$work"/unpacked/*/resumed
    [ -f "$1" ] && [ -f "$1-hub" ] || fail "$archive does not hold both programs"
    { cp "$1" "$new" && cp "$1-hub" "$new_hub" && chmod 755 "$new" "$new_hub"; } 2>/dev/null || fail "$to cannot be written" "--to DIR, a directory of yours that is in PATH"
    version=$("$new" version) || fail "the program does not run here: nothing was installed"
    before=
    [ ! -x "$to/resumed" ] || before=$("$to/resumed" version 2>/dev/null || true)
    if [ -n "$share" ]; then
        rm -rf "$share"
        { mkdir -p "$share" && cp -R "${1%/*}/.claude-plugin" "${1%/*}/plugins" "$share"; } 2>/dev/null || fail "$share cannot be written" "--to DIR, without the plugins"
    fi
    mv -f "$new_hub" "$to/resumed-hub"
    mv -f "$new" "$to/resumed"
    report
}

# report says what was done, and how to undo it.
report() {
    echo "$version"
    echo "is in $to/resumed. Its sum is the one that $base states:"
    echo "the download is complete. Who made it, the sum does not prove: it comes from the same server."
    if [ -n "$before" ]; then
        echo "It takes the place of $before"
        echo "A daemon that runs goes on as it is; the new one takes over by: resumed install"
    fi
    case ":${PATH:-}:" in
    *":$to:"*)
        first=$(command -v resumed || true)
        [ "$first" = "$to/resumed" ] || echo "In your PATH another one comes first: $first"
        ;;
    *)
        echo "Your PATH does not have $to. Add this to ~/.profile, ~/.bashrc or ~/.zshrc:"
        echo "  export PATH=\"$to:\$PATH\""
        ;;
    esac
    echo "Next: resumed demo, then resumed install"
    echo "To undo it: $to/resumed uninstall --purge, then rm -r $to/resumed $to/resumed-hub${share:+ $share}"
}

main "$@" # all of it was read: half of a script does nothing
