package main

import "resumed/internal/commandline"

// meant are words of systemctl, docker, git and tmux, and the commands that do that here. They are hints:
// none of the words is a command.
func meant() []commandline.Meant {
	const see, end, all = "resumed status SESSION", "resumed cancel SESSION", "resumed status --all"
	const reload = "resumed config check (a running daemon reads a changed file by itself)"
	return []commandline.Meant{
		{Words: "show, info, inspect, describe, why, view, get", Command: see},
		{Words: "list, ls, ps, sessions", Command: "resumed status, or " + all},
		{Words: "top, watch, monitor, follow", Command: "resumed status --watch"},
		{Words: "tail, log, output, journal, journalctl", Command: "resumed logs SESSION"},
		{Words: "events, audit", Command: "resumed history"},
		{Words: "resume, continue, restart, rerun, again, resurrect", Command: "resumed retry SESSION"},
		{Words: "stop, halt", Command: end + ", or resumed pause SESSION"},
		{Words: "kill, abort, terminate, quit", Command: "resumed cancel --stop SESSION"},
		{Words: "rm, remove, delete, forget, drop, skip, ignore, dismiss", Command: end},
		{Words: "suspend, hold, freeze", Command: "resumed pause SESSION"},
		{Words: "unsuspend, unfreeze, unhold", Command: "resumed unpause SESSION"},
		{Words: "start, daemon, up, serve, server", Command: "resumed run, or resumed install (as a service)"},
		{Words: "enable", Command: "resumed install"},
		{Words: "disable, down", Command: "resumed uninstall, or resumed pause"},
		{Words: "attach, shells, new, new-session", Command: "resumed shell"},
		{Words: "add, enqueue, push, schedule, task, tasks", Command: "resumed queue add -- PROMPT"},
		{Words: "reload, daemon-reload", Command: reload},
		{Words: "edit, configure, settings, init, setup", Command: "resumed config init"},
		{Words: "check, validate, verify, lint", Command: "resumed config check, or resumed doctor"},
		{Words: "test, notification, notifications", Command: "resumed notify test"},
		{Words: "join, leave", Command: "resumed fleet"},
		{Words: "quota, limits, limit, accounts, account", Command: "resumed usage"},
		{Words: "web, ui, dashboard, browser", Command: "resumed open"},
		{Words: "policy, policies", Command: "resumed backoff"},
		{Words: "diagnose, health, debug", Command: "resumed doctor"},

		{Words: "queue list, queue ls, queue show, queue ps, queue status", Command: "resumed queue"},
		{Words: "queue rm, queue remove, queue delete, queue del, queue cancel, queue kill, queue pop", Command: "resumed queue drop TASK"},
		{Words: "queue push, queue new, queue create, queue enqueue, queue append", Command: "resumed queue add -- PROMPT"},
		{Words: "queue change, queue set, queue update", Command: "resumed queue edit TASK"},
		{Words: "queue mv, queue up, queue down, queue first, queue last", Command: "resumed queue move TASK FIRST"},

		{Words: "config path, config file, config where", Command: "resumed config check (it names the file)"},
		{Words: "config ls, config list, config get, config view, config print, config cat", Command: "resumed config show"},
		{Words: "config validate, config test, config lint, config verify", Command: "resumed config check"},
		{Words: "config edit, config set, config add, config new, config create", Command: "resumed config init, then an editor, then resumed config check"},
		{Words: "config reload", Command: reload},
		{Words: "notify send, notify phone, notify desktop, notify list, notify ls", Command: "resumed notify test"},
		{Words: "fleet list, fleet ls, fleet status, fleet show, fleet ps", Command: "resumed status --fleet"},
		{Words: "fleet init, fleet create, fleet new, fleet invite", Command: "resumed hub init"},
		{Words: "fleet add, fleet connect", Command: "resumed fleet join -"},
		{Words: "fleet rm, fleet remove, fleet disconnect", Command: "resumed fleet leave"},

		{Words: "logs --tail, logs --head", Command: "resumed logs SESSION -n 20"},
		{Words: "logs --since, logs --until", Command: "resumed history SESSION --since 12h"},
		{Words: "logs --all, logs -a", Command: "resumed logs"},
		{Words: "status --follow, status -f", Command: "resumed status --watch"},
		{Words: "status -a", Command: all},
		{Words: "status -n, status --lines", Command: "resumed history"},
		{Words: "history --follow, history -f, history --watch, history -w", Command: "resumed status --watch"},
		{Words: "history -n, history --lines, history --tail", Command: "resumed history --since 12h"},
		{Words: "retry --force, retry -f", Command: "resumed retry SESSION --now"},
		{Words: "cancel --force, cancel -f, cancel --kill", Command: "resumed cancel --stop SESSION"},
		{Words: "retry -a", Command: "resumed retry --all"},
		{Words: "cancel -a", Command: "resumed cancel --all"},
		{Words: "queue add --prompt, queue add -p, queue add -m", Command: "resumed queue add -- PROMPT"},
		{Words: "run --daemon, run -d, run --detach, run --background", Command: "resumed install"},
		{Words: "--verbose, --debug", Command: "resumed run --log-level debug"},
		{Words: "-c", Command: "resumed --config FILE"},
	}
}
