package e2e

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"resumed/internal/agenttest"
	"resumed/internal/leash"
	"resumed/internal/resume"
)

// claudeLeash are sessions of Claude Code with a leash of their own. Its user
// allows all commands, but for what each of them says.
func claudeLeash() []situation {
	limited := agenttest.RateLimit(0)
	free := func(*box) []string { return []string{"IS_SANDBOX=1"} } // for root
	all := []situation{
		forbidden("a tool that is disallowed", limited, nothing, words("claude", "--disallowedTools", "Bash(echo:*)", "-p")),
		forbidden("a tool that is disallowed where nobody is asked", limited, free,
			words("claude", "--dangerously-skip-permissions", "--disallowedTools", "Bash(echo:*)", "-p")),
		forbidden("few tools", limited, nothing, words("claude", "--tools", "Read,Grep", "-p")),
		forbidden("settings that deny", limited, nothing, func(b *box) []string {
			b.write("src/shop/mine.json", `{"permissions":{"deny":["Bash"]}}`)
			return words("claude", "--settings", "mine.json", "-p")(b)
		}),
		forbidden("a hook that refuses", limited, nothing, func(b *box) []string {
			hook := `{"hooks":{"PreToolUse":[{"matcher":"Bash","hooks":[{"type":"command","command":"echo no >&2; exit 2"}]}]}}`
			return words("claude", "--settings", hook, "-p")(b)
		}),
		forbidden("without the user's settings", limited, nothing, words("claude", "--setting-sources", "project", "-p")),
		allowed("what was granted", limited, words("claude", "--allowedTools", "Bash", "--add-dir", "/usr/share", "--mcp-config", `{"mcpServers":{}}`,
			"--append-system-prompt", "Be brief.", "-p")),
		turns,
		tooEarly(limited, words("claude", "--disallowedTools", "WebSearch", "-p")),
		sameWorld(limited, words("claude", "-p")),
		hidden(limited, false, words("claude", "-p")),
		hidden(limited, true, words("claude", "-p")),
		wayIn("in namespaces of its own, with a way in", func(b *box) string { return b.path("enter") + " " + filepath.Join(b.bin, "claude") }),
		wayIn("in namespaces of its own, with a way in of the agent's name", func(b *box) string {
			b.write("bin/claude", "#!/bin/sh\nexec '"+b.path("enter")+"' '"+filepath.Join(b.bin, "claude")+"' \"$@\"\n")
			require.NoError(b.t, os.Chmod(b.path("bin/claude"), 0o755))
			return "~/bin/claude"
		}),
		inPath,
		otherAccount("ANTHROPIC_BASE_URL", "ANTHROPIC_AUTH_TOKEN", limited, false, words("claude", "-p")),
		otherAccount("ANTHROPIC_BASE_URL", "ANTHROPIC_AUTH_TOKEN", limited, true, words("claude", "-p")),
		strangersKey,
		changedSettings, changedWhereAsked, missingSettings,
		lostVariables, toldVariable, keptVariables, toldTarget("claude", "-p"), parkedVariable("claude", "-p"),
		inSub, movedAway, freer, plans, shellEarly(agenttest.RateLimit(0), "claude", "--disallowedTools", "Bash(echo:*)", "--"),
		restricted(restrictions[len(restrictions)-1], true, words("claude", "-p")),
	}
	for _, r := range restrictions {
		all = append(all, restricted(r, false, words("claude", "-p")))
	}
	return all
}

// turns is a run that may take a few turns alone: so may its resume.
var turns = situation{"few turns", func(t *testing.T, b *box, row *result) {
	row.provider = string(agenttest.KindRateLimit)
	b.start(b.config())
	b.provider.Script(b.step("one"), agenttest.RateLimit(0).Thinking(thought))
	b.provider.Upon("continue", b.step("two"))
	agent := b.ours(nil, "claude", "--max-turns", "3", "-p", prompt)
	row.said = saw(b.untilState(resume.Waiting, resume.Resuming))
	agent.wait(t)
	before := b.refused()
	b.until("it was continued", func() bool { return resumes(b) == 1 })
	b.calm()
	require.LessOrEqual(t, strings.Count(b.done(), "two"), 3)
	for _, r := range b.provider.Requests()[len(before):] {
		require.Equal(t, agenttest.KindTool, r.Answer)
	}
	row.did, row.outcome = "continued once", "stopped after three turns"
}}

// strangersKey is a session that asks in the name of its login, while the daemon
// has a key and an address of somebody else.
var strangersKey = situation{"a key that only the daemon has", func(t *testing.T, b *box, row *result) {
	const others = "sk-others-000000000000000"
	row.provider = string(agenttest.KindRateLimit)
	b.extra = append(b.extra, "ANTHROPIC_AUTH_TOKEN="+others, "ANTHROPIC_API_KEY="+others, "ANTHROPIC_CUSTOM_HEADERS=x-other: "+others)
	b.start(b.config())
	b.provider.Script(b.step("one"), agenttest.RateLimit(0).Thinking(thought))
	b.provider.Upon("continue", b.step("two"), agenttest.Text("All done."))
	agent := b.ours([]string{"-u", "ANTHROPIC_AUTH_TOKEN", "-u", "ANTHROPIC_API_KEY", "-u", "ANTHROPIC_CUSTOM_HEADERS"}, "claude", "-p", prompt)
	s := b.untilState(resume.Waiting, resume.Resuming, resume.Settling)
	row.said = saw(s)
	agent.wait(t)
	for _, r := range b.finished(s, b.refused(), 1, once) {
		require.Equal(t, dummy, r.Key)
	}
	row.did, row.outcome = "continued once with its own key", "finished"
}}

// wayIn is a session in a world of its own to which the user has named the way.
func wayIn(name string, command func(*box) string) situation {
	return situation{name, func(t *testing.T, b *box, row *result) {
		if out, err := exec.Command("unshare", "--mount", "--pid", "--fork", "true").CombinedOutput(); err != nil {
			t.Skipf("SKIPPED: namespaces cannot be made: %s", out)
		}
		row.provider = string(agenttest.KindRateLimit)
		b.write("enter", "#!/bin/sh\nexec unshare --mount --pid --fork --mount-proc sh -c 'mount --bind /dev/null secret.txt && exec \"$0\" \"$@\"' \"$@\"\n")
		require.NoError(t, os.Chmod(b.path("enter"), 0o755))
		b.write("src/shop/secret.txt", "hunter2\n")
		program := filepath.Join(b.bin, "claude")
		b.start(b.config() + "[[agent]]\nname = \"claude-code\"\ncommand = \"" + command(b) + "\"\n")
		read := func(step string) agenttest.Answer {
			return agenttest.Tool("cat secret.txt >> work.txt; echo " + step + " >> work.txt")
		}
		b.provider.Script(read("one"), agenttest.RateLimit(0).Thinking(thought))
		b.provider.Upon("continue", read("two"), agenttest.Text("All done."))
		agent := b.launch(b.path("enter"), program, "-p", prompt)
		s := b.untilState(resume.Waiting, resume.Resuming, resume.Settling)
		row.said = saw(s)
		agent.wait(t)
		b.finished(s, b.refused(), 1, once)
		row.did, row.outcome = "continued once by the way in", "finished"
	}}
}

// inPath is a session that was started by a script called claude, first in PATH,
// which still stands before it: so it is continued.
var inPath = situation{"behind a script in PATH", func(t *testing.T, b *box, row *result) {
	row.provider = string(agenttest.KindRateLimit)
	b.write("wrap/claude", "#!/bin/sh\necho wrapped >> \"$HOME/wrapped\"\n'"+filepath.Join(b.bin, "claude")+"' \"$@\"\nexit $?\n")
	require.NoError(t, os.Chmod(b.path("wrap/claude"), 0o755))
	b.start(b.config())
	b.provider.Script(b.step("one"), agenttest.RateLimit(0).Thinking(thought))
	b.provider.Upon("continue", b.step("two"), agenttest.Text("All done."))
	agent := b.launch(b.path("wrap/claude"), "-p", prompt)
	s := b.untilState(resume.Waiting, resume.Resuming, resume.Settling)
	row.said = saw(s)
	agent.wait(t)
	b.finished(s, b.refused(), 1, once)
	wrapped, err := os.ReadFile(b.path("wrapped"))
	require.NoError(t, err)
	require.Equal(t, 2, strings.Count(string(wrapped), "wrapped"), "the resume went through it, too")
	row.did, row.outcome = "continued once through the script", "finished"
}}

// TestEveryFlagOfClaudeIsKnown looks whether the table has every flag that the
// program tells of, and whether it has values there as it has here.
func TestEveryFlagOfClaudeIsKnown(t *testing.T) {
	if !wanted("claude-code") {
		t.Skip("SKIPPED: E2E does not ask for it")
	}
	versions := []string{"2.0.30", "2.1.12", "2.1.197", "2.1.325"}
	if newest := newestOf(t, claude("").npm); newest != "" && newest != versions[len(versions)-1] {
		versions = append(versions, newest)
	}
	for _, version := range versions {
		k := claude(version)
		t.Run(version, func(t *testing.T) {
			bin, _ := install(t, k)
			b := newBox(t, k, bin)
			cmd := exec.CommandContext(t.Context(), filepath.Join(bin, k.program), "--help")
			cmd.Env, cmd.Dir = b.env(), b.work
			out, err := cmd.CombinedOutput()
			require.NoError(t, err, string(out))
			table, found := flagsOf(t, k.agent), commanderFlag.FindAllStringSubmatch(string(out), -1)
			require.Greater(t, len(found), 20, "the help is read")
			for _, f := range found {
				for name := range strings.SplitSeq(f[1], ", ") {
					require.NotZero(t, table.Takes(name), "%s of Claude Code %s is in no table", name, version)
					if name == "--plugin-dir" && strings.HasSuffix(f[2], "...>") {
						continue // one each time since 2.1.1xx
					}
					require.Equal(t, commanderTakes(f[2]), table.Takes(name), "%s of Claude Code %s", name, version)
				}
			}
		})
	}
}

// commanderFlag is a line of a help: the names of a flag, and its value.
var commanderFlag = regexp.MustCompile(`(?m)^ {2}(-[\w-]+(?:, -[\w-]+)*)(?: ([<\[][^\s>\]]+[>\]]))?(?:\s|$)`)

func commanderTakes(value string) leash.Takes {
	switch {
	case strings.HasSuffix(value, "...>"):
		return leash.Many
	case strings.HasPrefix(value, "<"):
		return leash.One
	case value != "":
		return leash.Maybe
	default:
		return leash.Alone
	}
}

// newestOf returns the newest version of a package; empty: nobody tells.
func newestOf(t *testing.T, pkg string) string {
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	out, err := exec.CommandContext(ctx, "npm", "view", "--fetch-retries=0", pkg, "version").Output()
	if err != nil {
		t.Logf("the registry does not tell the newest %s: %v", pkg, err)
		return ""
	}
	return strings.TrimSpace(string(out))
}
