package e2e

import (
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"resumed/internal/agenttest"
	"resumed/internal/leash"
)

// opencodeLeash are sessions of opencode, or of a program that was made of it, with a
// leash of their own.
func opencodeLeash(program string) []situation {
	limited := agenttest.RateLimit(time.Second)
	byVariables := func(b *box) []string {
		b.change(filepath.Join(".config", program, program+".json"), b.provider.URL, "{env:FAKE_URL}", `"`+dummy+`"`, `"{env:FAKE_KEY}"`, `/v1"`, `"`)
		return words(program, "run")(b)
	}
	return []situation{
		forbidden("permissions of its own shell", limited,
			func(*box) []string { return []string{strings.ToUpper(program) + `_PERMISSION={"bash":"deny"}`} }, words(program, "run")),
		allowed("allowed by a flag", limited, words(program, "run", "--auto")),
		hidden(limited, false, words(program, "run")),
		hidden(limited, true, words(program, "run")),
		otherAccount("FAKE_URL", "FAKE_KEY", limited, false, byVariables),
		otherAccount("FAKE_URL", "FAKE_KEY", limited, true, byVariables),
		tooEarly(limited, words(program, "run")),
		sameWorld(limited, words(program, "run")),
	}
}

// copilotLeash are sessions of GitHub Copilot CLI with a leash of their own.
func copilotLeash() []situation {
	limited := agenttest.RateLimit(time.Second)
	return []situation{
		forbidden("a tool that is denied", limited, nothing, words("copilot", "--allow-all-tools", "--deny-tool=shell", "-p")),
		otherAccount("COPILOT_PROVIDER_BASE_URL", "COPILOT_PROVIDER_API_KEY", limited, true, words("copilot", "--allow-all-tools", "-p")),
		tooEarly(limited, words("copilot", "--allow-all-tools", "-p")),
		sameWorld(limited, words("copilot", "--allow-all-tools", "-p")),
	}
}

// kimiLeash are sessions of Kimi Code with a leash of their own.
func kimiLeash() []situation {
	limited := agenttest.RateLimit(time.Second)
	return []situation{
		otherAccount("KIMI_MODEL_BASE_URL", "KIMI_MODEL_API_KEY", limited, false, words("kimi", "-p")),
		otherAccount("KIMI_MODEL_BASE_URL", "KIMI_MODEL_API_KEY", limited, true, words("kimi", "-p")),
	}
}

// piLeash are sessions of pi with a leash of their own.
func piLeash() []situation {
	limited := agenttest.RateLimit(0)
	return []situation{
		forbidden("a tool that is not offered", limited, nothing, words("pi", "--model", "fake/fake", "--tools", "read,grep", "-p")),
		otherAccount("FAKE_URL", "FAKE_KEY", limited, true, words("pi", "--model", "fake/fake", "-p")),
	}
}

// qwenLeash are sessions of Qwen Code with a leash of their own.
func qwenLeash() []situation {
	limited := agenttest.UsageLimit(8 * time.Second)
	return []situation{
		forbidden("a tool that is excluded", limited, nothing, words("qwen", "--exclude-tools", "run_shell_command", "-p")),
		hidden(limited, false, words("qwen", "-p")),
		tooEarly(limited, words("qwen", "-p")),
		sameWorld(limited, words("qwen", "-p")),
		otherAccount("OPENAI_BASE_URL", "OPENAI_API_KEY", limited, false, words("qwen", "-p")),
		otherAccount("OPENAI_BASE_URL", "OPENAI_API_KEY", limited, true, words("qwen", "-p")),
	}
}

// helpFlag is a line of GitHub Copilot CLI's help: the names of a flag, and its value.
var helpFlag = regexp.MustCompile(`(?m)^ {2,6}((?:-\w, )?--[\w-]+|-\w)(?: (<\S+>|\[<\S+>\]|\[<\S+>\.\.\.\]))?\s*$`)

// TestEveryFlagOfCopilotIsKnown looks whether the table has every flag that the program
// tells of, and whether it has values there as it has here.
func TestEveryFlagOfCopilotIsKnown(t *testing.T) {
	k := copilot("1.0.102")
	if !wanted(k.agent) {
		t.Skip("SKIPPED: E2E does not ask for it")
	}
	bin, _ := install(t, k)
	b, table := newBox(t, k, bin), flagsOf(t, k.agent)
	cmd := exec.CommandContext(t.Context(), filepath.Join(bin, k.program), "--help")
	cmd.Env, cmd.Dir = b.env(), b.work
	out, err := cmd.Output()
	require.NoError(t, err, string(out))
	found := helpFlag.FindAllStringSubmatch(string(out), -1)
	require.Greater(t, len(found), 70, "the help is read")
	for _, f := range found {
		for name := range strings.SplitSeq(f[1], ", ") {
			require.Equal(t, helpTakes(f[2]), table.Takes(name), name)
		}
	}
}

func helpTakes(value string) leash.Takes {
	switch {
	case strings.HasSuffix(value, "...]"):
		return leash.Many
	case strings.HasPrefix(value, "["):
		return leash.Maybe
	case value != "":
		return leash.One
	default:
		return leash.Alone
	}
}

// TestEveryFlagOfYargsIsKnown looks whether the tables have every flag that the
// programs tell of, and whether it has values there as it has here.
func TestEveryFlagOfYargsIsKnown(t *testing.T) {
	subcommands := map[string][]string{"opencode": {"run", "serve", "web", "attach", "acp"}, "kilo": {"run", "serve", "attach", "acp"}}
	for _, k := range []kit{
		opencode("1.18.33"), opencode("1.17.11"), kilo("7.7.7"), gemini("0.61.0"), gemini("0.40.1"), qwen("0.24.4"), qwen("0.15.10"),
	} {
		t.Run(k.name(), func(t *testing.T) {
			if !wanted(k.agent) {
				t.Skip("SKIPPED: E2E does not ask for it")
			}
			bin, _ := install(t, k)
			b := newBox(t, k, bin)
			table := flagsOf(t, k.agent)
			for _, command := range append([]string{""}, subcommands[k.agent]...) {
				cmd := exec.CommandContext(t.Context(), filepath.Join(bin, k.program), append(strings.Fields(command), "--help")...)
				cmd.Env, cmd.Dir = b.env(), b.work
				out, err := cmd.CombinedOutput()
				require.NoError(t, err, string(out))
				for name, kind := range told(string(out)) {
					requireTakes(t, table.Takes(name), kind, strings.TrimSpace(k.program+" "+command+" "+name))
				}
			}
		})
	}
}

var (
	entry = regexp.MustCompile(`(?m)^ {2}(?:-\w, | {4})--[a-z-]+(?:, --[a-z-]+)*`)
	kind  = regexp.MustCompile(`\[(boolean|string|number|array)\]`)
	flag  = regexp.MustCompile(`--?[a-z][a-z-]*`)
)

// told returns the flags of a help, each with what it takes.
func told(help string) map[string]string {
	all := make(map[string]string)
	starts := append(entry.FindAllStringIndex(help, -1), []int{len(help), len(help)})
	for i, at := range starts[:len(starts)-1] {
		found := kind.FindStringSubmatch(help[at[0]:starts[i+1][0]])
		for _, name := range flag.FindAllString(help[at[0]:at[1]], -1) {
			all[name] = append(found, "", "")[1]
		}
	}
	return all
}

func requireTakes(t *testing.T, takes leash.Takes, kind, what string) {
	t.Helper()
	fits := map[string][]leash.Takes{
		"boolean": {leash.Switch}, "string": {leash.Maybe}, "number": {leash.Maybe},
		"array": {leash.Many, leash.Maybe}, // some take one each time
	}
	require.NotZero(t, takes, "%s is in no table", what)
	require.Contains(t, fits[kind], takes, "%s is %s", what, kind)
}
