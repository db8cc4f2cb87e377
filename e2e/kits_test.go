package e2e

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"resumed/internal/agenttest"
	"resumed/internal/limit"
)

// kit is one version of one agent, and how it is put to work.
type kit struct {
	agent   string // as resumed names it
	version string
	npm     string   // the package
	also    []string // further packages it needs
	bundle  string   // the program in the package, if that needs no others; empty: npm installs it
	program string
	place   int // in the table

	// scripted agents ask before a command with a redirection in it, and are
	// given a script. Claude Code's auto mode asks before a script.
	scripted bool

	margin string // resume.margin: what the agent's stated times lack in precision
	unseen string // resume.unseen: what becomes of a session whose start cannot be seen

	// setUp writes the agent's configuration into the box and returns its
	// environment.
	setUp func(*box) []string

	// ask makes the agent ask before it runs a command.
	ask func(*box)

	// begin is a run on a new session without a terminal.
	begin func(prompt string) []string

	// talk is a run on a new session in a terminal.
	talk func(prompt string) []string

	// greet gives the prompt to an agent in a terminal that takes none when it is
	// started; nil: it does.
	greet func(p *pane, prompt string)

	// kept reads what the agent keeps of its sessions.
	kept func(t *testing.T, home string) kept

	takesBack bool // out of its session, a prompt that failed
	turns     bool // it records where a turn ends

	cases []interruption // without a terminal
	exec  []wrapping     // the same, under `resumed exec`
	live  []situation    // in a terminal

	// slow names the cases in which the agent does little but wait.
	slow map[string]bool
}

// situations returns all cases; for a short run, a third of them.
func (k kit) situations() []situation {
	var all []situation
	for _, c := range k.cases {
		all = append(all, situation{c.name, c.play})
	}
	for _, w := range k.exec {
		all = append(all, situation{w.name, w.play})
	}
	if slices.Contains([]string{"claude-code 2.1.325", "codex 0.166.0", "copilot 1.0.102"}, k.name()) {
		all = append(all, fromQueue)
	}
	if slices.Contains([]string{"claude-code 2.1.325", "codex 0.166.0"}, k.name()) {
		all = append(all, execOthers...)
		all = append(append(all, cutOff, quiet, liveQuiet), outOfMemory...)
		if k.agent == "codex" {
			all = append(all, leftTool)
		} else {
			all = append(all, longTool)
		}
	}
	if slices.Contains([]string{"claude-code 2.1.325", "codex 0.166.0", "copilot 1.0.102", "gemini 0.61.0", "qwen-code 0.24.4", "opencode 1.18.33", "kilo 7.7.7"}, k.name()) {
		withPlugin := []situation{plugged, asksWithPlugin}
		if k.agent != "claude-code" && k.agent != "gemini" { // which has a row of its own, and which records no failure
			withPlugin = append(withPlugin, pluggedBefore)
		}
		if slices.Contains([]string{"claude-code", "gemini", "qwen-code"}, k.agent) { // the others run nothing by themselves
			withPlugin = append(withPlugin, pluginCommands)
		}
		if k.agent == "codex" { // its hooks are trusted by a person first
			withPlugin = slices.Delete(withPlugin, 1, 2)
		}
		all = append(all, sample(2, withPlugin)...)
	}
	if k.name() == "claude-code 2.1.325" {
		all = append(all, fallback, oneDocument, pluggedEarly, subagentWithIt, subagentAlone)
	}
	return sample(5, append(all, k.live...))
}

func named(names ...string) map[string]bool {
	set := make(map[string]bool)
	for _, name := range names {
		set[name] = true
	}
	return set
}

func (k kit) name() string { return k.agent + " " + k.version }

// dummy is a key that opens nothing.
const dummy = "sk-dummy-00000000000000000000"

func claude(version string) kit {
	return kit{
		agent: "claude-code", version: version, npm: "@anthropic-ai/claude-code", program: "claude",
		margin: "0s", kept: claudeChats, turns: true,
		exec: wraps(agenttest.RateLimit(0)),
		setUp: func(b *box) []string {
			b.writeJSON(".claude.json", map[string]any{
				"hasCompletedOnboarding": true,
				"theme":                  "dark",
				"autoUpdates":            false,
				"customApiKeyResponses":  map[string]any{"approved": []string{dummy[len(dummy)-20:]}},
				"projects":               map[string]any{b.work: map[string]any{"hasTrustDialogAccepted": true}},
			})
			b.writeJSON(".claude/settings.json", map[string]any{
				"permissions": map[string]any{"allow": []string{"Bash"}},
			})
			return []string{
				"ANTHROPIC_BASE_URL=" + b.provider.URL,
				"CLAUDE_CODE_OAUTH_TOKEN=" + dummy,
				"CLAUDE_CODE_MAX_RETRIES=1",
				"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1",
				"DISABLE_AUTOUPDATER=1",
				"DISABLE_TELEMETRY=1",
				"DISABLE_ERROR_REPORTING=1",
			}
		},
		begin: func(prompt string) []string { return []string{"claude", "-p", prompt} },
		talk:  func(prompt string) []string { return []string{"claude", prompt} },
		cases: headless,
		ask:   func(b *box) { b.write(".claude/settings.json", "{}") },
		live:  append([]situation{idle, menu, movedMenu, inShell, small, vim, plain, quit, armed, drafted, busy, dead, denied, killedInNamespace, together, permits, onetime, commands, cleared}, sample(4, append(append(claudeLeash(), seats...), inEditor, menuInShell, tour))...),
		slow:  named(armed.name, quiet.name, opened.name, vim.name),
	}
}

func codex(version string) kit {
	return kit{
		agent: "codex", version: version, npm: "@openai/codex", program: "codex",
		margin: "0s", kept: codexChats, turns: version == "0.166.0",
		exec: wraps(agenttest.RateLimit(0)),
		setUp: func(b *box) []string {
			b.write(".codex/config.toml", strings.NewReplacer("URL", b.provider.URL, "WORK", b.work).Replace(`
model = "gpt-5.1-codex"
model_provider = "fake"
check_for_update_on_startup = false
approval_policy = "never"
sandbox_mode = "danger-full-access"
[analytics]
enabled = false
[feedback]
enabled = false
[otel]
exporter = "none"
[model_providers.fake]
name = "fake"
base_url = "URL/v1"
wire_api = "responses"
env_key = "FAKE_KEY"
request_max_retries = 1
stream_max_retries = 1
[projects."WORK"]
trust_level = "trusted"
`))
			b.write("tmp/README", "Not the home: Codex makes its sandbox of bwrap only outside of TMPDIR.")
			return []string{"FAKE_KEY=" + dummy, "TMPDIR=" + b.path("tmp")}
		},
		begin: func(prompt string) []string { return []string{"codex", "exec", "--skip-git-repo-check", prompt} },
		talk:  func(prompt string) []string { return []string{"codex", prompt} },
		cases: headless,
		ask: func(b *box) {
			b.change(".codex/config.toml", `"never"`, `"on-request"`, "danger-full-access", "read-only")
		},
		live: append([]situation{queued, shared, dead, denied}, sample(3, codexLeash())...),
		slow: named(quiet.name, opened.name),
	}
}

func opencode(version string) kit { return ofOpencode("opencode", "opencode-ai", version) }

// kilo was made of opencode.
func kilo(version string) kit { return ofOpencode("kilo", "@kilocode/cli", version) }

// ofOpencode is opencode or a program that was made of it. All that is its own is
// called by its name.
func ofOpencode(program, npm, version string) kit {
	config, variable := filepath.Join(".config", program, program+".json"), strings.ToUpper(program)
	return kit{
		agent: program, version: version, npm: npm, program: program,
		margin: "0s", kept: sessionsIn(filepath.Join(".local/share", program, program+".db")),
		exec: wraps(agenttest.RateLimit(time.Second)),
		setUp: func(b *box) []string {
			b.writeJSON(config, map[string]any{
				"autoupdate": false, "share": "disabled", "snapshot": false, "model": "fake/fake",
				"provider": map[string]any{"fake": map[string]any{
					"npm": "@ai-sdk/openai-compatible", "name": "fake",
					"options": map[string]any{"baseURL": b.provider.URL + "/v1", "apiKey": dummy},
					"models": map[string]any{"fake": map[string]any{
						"name": "fake", "tool_call": true, "limit": map[string]any{"context": 100000, "output": 4000},
					}},
				}},
			})
			return []string{
				variable + "_DISABLE_AUTOUPDATE=1", variable + "_DISABLE_MODELS_FETCH=1", variable + "_DISABLE_SHARE=1",
			}
		},
		begin: func(prompt string) []string { return []string{program, "run", prompt} },
		talk:  func(prompt string) []string { return []string{program, "--prompt", prompt} },
		ask: func(b *box) {
			b.change(config, `{"autoupdate"`, `{"permission":{"bash":"ask"},"autoupdate"`)
		},
		cases: headless,
		live:  append([]situation{outOfReach(agenttest.RateLimit(time.Second), limit.RateLimit), denied}, sample(6, opencodeLeash(program))...),
		// Without a time in a header it tries for over a minute.
		slow: named("limit with a stated reset", "throttle without one", "overload", unreachable, denied.name),
	}
}

// copilot asks a provider of the user's own: GitHub's needs an account.
func copilot(version string) kit {
	return kit{
		agent: "copilot", version: version, npm: "@github/copilot", program: "copilot",
		margin: "0s", kept: copilotEvents,
		exec: wraps(agenttest.RateLimit(time.Second)),
		setUp: func(b *box) []string {
			b.writeJSON(".copilot/config.json", map[string]any{"trustedFolders": []string{b.work}})
			return []string{
				"COPILOT_OFFLINE=true", "COPILOT_AUTO_UPDATE=false", "COPILOT_PROVIDER_BASE_URL=" + b.provider.URL + "/v1", "COPILOT_PROVIDER_API_KEY=" + dummy,
				"COPILOT_MODEL=fake", "COPILOT_CACHE_HOME=" + filepath.Join(filepath.Dir(b.bin), ".copilot-cache"),
			}
		},
		begin: func(prompt string) []string { return []string{"copilot", "--allow-all-tools", "-p", prompt} },
		talk:  func(prompt string) []string { return []string{"copilot", "--allow-all-tools", "-i", prompt} },
		cases: headless,
		live:  append([]situation{outOfReach(agenttest.RateLimit(time.Second), limit.RateLimit)}, copilotLeash()...),
		// Without a time in a header it tries for a minute.
		slow: named("throttle without one"),
	}
}

func gemini(version string) kit {
	return kit{
		agent: "gemini", version: version, scripted: true, npm: "@google/gemini-cli", program: "gemini",
		margin: "0s", kept: geminiChats, takesBack: true,
		// A run without a terminal leaves no record of its failure: exec is all
		// that can help it.
		exec: append(wraps(agenttest.RateLimit(0)),
			wrapping{name: "exec, limit with a stated reset", answer: agenttest.UsageLimit(8 * time.Second), end: goesOn, class: limit.RateLimit},
			wrapping{name: "exec, overload", answer: agenttest.Overloaded(), end: goesOn, class: limit.Overloaded},
		),
		setUp: func(b *box) []string {
			b.writeJSON(".gemini/settings.json", map[string]any{
				"security":  map[string]any{"auth": map[string]any{"selectedType": "gemini-api-key"}, "folderTrust": map[string]any{"enabled": false}},
				"general":   map[string]any{"enableAutoUpdate": false, "enableAutoUpdateNotification": false, "maxAttempts": 1},
				"tools":     map[string]any{"allowed": []string{"run_shell_command"}},
				"privacy":   map[string]any{"usageStatisticsEnabled": false},
				"telemetry": map[string]any{"enabled": false},
			})
			b.write("tmp/README", "Reports of failures.") // which it leaves in TMPDIR
			return []string{
				"GEMINI_API_KEY=" + dummy, "GOOGLE_GEMINI_BASE_URL=" + b.provider.URL, "GEMINI_CLI_NO_RELAUNCH=true", "TMPDIR=" + b.path("tmp"),
			}
		},
		begin: func(prompt string) []string { return []string{"gemini", "-m", "gemini-2.5-pro", "-p", prompt} },
		talk:  func(prompt string) []string { return []string{"gemini", "-m", "gemini-2.5-pro", "-i", prompt} },
		cases: []interruption{unwritten(headless[3]), headless[4], headless[5]},
		// A limit opens a dialog, and nothing is written before that is answered.
		live: []situation{outOfReach(agenttest.CutStream(), limit.Network)},
	}
}

func qwen(version string) kit {
	return kit{
		agent: "qwen-code", version: version, npm: "@qwen-code/qwen-code", also: []string{"node@22"}, program: "qwen",
		margin: "0s", kept: qwenChats,
		exec: wraps(agenttest.RateLimit(time.Second)),
		setUp: func(b *box) []string {
			b.writeJSON(".qwen/settings.json", map[string]any{
				"security":  map[string]any{"auth": map[string]any{"selectedType": "openai"}, "folderTrust": map[string]any{"enabled": false}},
				"general":   map[string]any{"enableAutoUpdate": false},
				"tools":     map[string]any{"approvalMode": "yolo"},
				"model":     map[string]any{"generationConfig": map[string]any{"maxRetries": 0}},
				"privacy":   map[string]any{"usageStatisticsEnabled": false},
				"telemetry": map[string]any{"enabled": false},
				"$version":  4, // otherwise 0.24 writes the file anew when it starts, and it says nothing about that start any more
			})
			return []string{
				"OPENAI_API_KEY=" + dummy, "OPENAI_MODEL=fake", fmt.Sprintf("OPENAI_BASE_URL=%s/v1", b.provider.URL),
			}
		},
		begin: func(prompt string) []string { return []string{"qwen", "-p", prompt} },
		talk:  func(prompt string) []string { return []string{"qwen", "-i", prompt} },
		live:  append([]situation{outOfReach(agenttest.RateLimit(time.Second), limit.RateLimit)}, qwenLeash()...),
		// Where no time is stated it tries for minutes: it is stopped by its end.
		cases: []interruption{
			headless[0],
			{name: "throttle and its process killed", answer: agenttest.RateLimit(0), signal: syscall.SIGKILL, class: limit.RateLimit, end: resumed},
			{name: "overload and its process killed", answer: agenttest.Overloaded(), signal: syscall.SIGKILL, class: limit.Overloaded, end: resumed},
			headless[3], headless[4], headless[5],
		},
	}
}

// kimi asks a provider of the user's own: Moonshot's needs an account.
func kimi(version string) kit {
	return kit{
		agent: "kimi", version: version, npm: "@moonshot-ai/kimi-code", also: []string{"node@22"}, program: "kimi",
		margin: "0s", kept: kimiRecords,
		exec: wraps(agenttest.RateLimit(time.Second)),
		setUp: func(b *box) []string {
			return []string{
				"KIMI_MODEL_NAME=fake", "KIMI_MODEL_PROVIDER_TYPE=kimi", "KIMI_MODEL_BASE_URL=" + b.provider.URL + "/v1", "KIMI_MODEL_API_KEY=" + dummy,
				"KIMI_LOOP_MAX_ATTEMPTS_PER_STEP=1", "KIMI_CODE_NO_AUTO_UPDATE=1", "KIMI_DISABLE_TELEMETRY=1",
			}
		},
		begin: func(prompt string) []string { return []string{"kimi", "-p", prompt} },
		talk:  func(string) []string { return []string{"kimi", "--auto"} },
		greet: trusted,
		cases: append(slices.Clone(headless),
			interruption{name: "allowance under 403", answer: agenttest.Allowance(), class: limit.UsageLimit, end: resumed}),
		live: append([]situation{outOfReach(agenttest.RateLimit(time.Second), limit.RateLimit), asking, waiting}, kimiLeash()...),
		slow: named(waiting.name),
	}
}

// bundled is a pi that needs none of the packages that it names.
func bundled(k kit) kit {
	k.bundle = "dist/bundle/cli.js"
	return k
}

// pi asks a provider of the user's own. Its process title hides its flags.
func pi(version string) kit {
	return kit{
		agent: "pi", version: version, npm: "@earendil-works/pi-coding-agent", also: []string{"node@22"}, program: "pi",
		margin: "0s", unseen: "same_mode", kept: piSessions,
		exec: wraps(agenttest.RateLimit(0)),
		setUp: func(b *box) []string {
			b.writeJSON(".pi/agent/models.json", map[string]any{"providers": map[string]any{"fake": map[string]any{
				"baseUrl": b.provider.URL + "/v1", "api": "openai-completions", "apiKey": "$FAKE_KEY", "models": []any{map[string]any{"id": "fake"}, map[string]any{"id": "other"}},
			}}})
			b.writeJSON(".pi/agent/settings.json", map[string]any{
				"defaultProvider": "fake", "defaultModel": "other", "retry": map[string]any{"enabled": false},
			})
			return []string{"FAKE_KEY=" + dummy, "PI_OFFLINE=1", "PI_TELEMETRY=0"}
		},
		begin: func(prompt string) []string { return []string{"pi", "--model", "fake/fake", "-p", prompt} },
		talk:  func(prompt string) []string { return []string{"pi", "--model", "fake/fake", prompt} },
		// A signal leaves no entry, and a prompt that stayed alone is left alone.
		cases: headless,
		live: append([]situation{
			outOfReach(agenttest.RateLimit(0), limit.RateLimit),
			otherModel,
			startUnseen,
		}, piLeash()...),
	}
}

// older is a Claude Code that states resets by the minute only, cut short.
func older(k kit) kit {
	k.margin = "60s"
	k.live = append([]situation{idle, menu, small, dead, denied, killedInNamespace}, sample(16, claudeLeash())...)
	k.slow = named("limit with a stated reset", menu.name, small.name, dead.name, killedInNamespace.name)
	return k
}

// silent is a Codex that writes down no failure but a used-up allowance.
func silent(k kit) kit {
	k.cases = slices.Clone(k.cases)
	for i := range k.cases {
		if !k.cases[i].stated {
			k.cases[i] = unwritten(k.cases[i])
		}
	}
	// Its first commands may see variables that they should not, whoever starts it.
	k.live = append([]situation{outOfReach(agenttest.UsageLimit(8*time.Second), limit.UsageLimit)}, sample(10, codexLeash()[1:])...)
	return k
}

// unwritten is an interruption of which the agent leaves no record.
func unwritten(c interruption) interruption {
	c.end = leftAlone
	return c
}
