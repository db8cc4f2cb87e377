package service

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"

	"resumed/internal/atomicfile"
	"resumed/internal/dirs"
	"resumed/internal/lazy"
)

// oldHook is a call of resumed in the settings of an agent. Releases until 0.2 wrote it; the plugin
// replaces it. All of this file goes with the next release.
type oldHook struct {
	title, path   string
	with, without []byte
	backup        bool // more than the call changes
}

// findOldHooks returns the settings that call resumed.
func findOldHooks() (found []oldHook) {
	userDir, _ := os.UserHomeDir()
	add := func(title, path string, without func([]byte) []byte) {
		with, _ := os.ReadFile(path) // most are not there
		if h := (oldHook{title: title, path: path, with: with, without: without(with)}); !bytes.Equal(with, h.without) {
			h.backup = !bytes.Equal(h.without, copiedSettings()) && filepath.Ext(path) == ".json"
			found = append(found, h)
		}
	}
	add("Claude Code", filepath.Join(cmp.Or(os.Getenv("CLAUDE_CONFIG_DIR"), filepath.Join(userDir, ".claude")), "settings.json"), withoutCalls)
	add("Codex", filepath.Join(cmp.Or(os.Getenv("CODEX_HOME"), filepath.Join(userDir, ".codex")), "config.toml"), withoutNotify)
	return found
}

// copiesDir is where an earlier release stored the settings of agents as they were before.
func copiesDir() string {
	state, _ := dirs.State(os.Getenv)
	return filepath.Join(state, "hooks")
}

func copiedSettings() []byte {
	text, _ := os.ReadFile(filepath.Join(copiesDir(), "claude-code.before"))
	return text
}

// removeOldHooks removes them, and reports whether there were any.
func (i Installer) removeOldHooks(dryRun bool) (found bool, err error) {
	hooks := findOldHooks()
	for _, h := range hooks {
		if dryRun {
			fmt.Fprintf(i.Out, "# take resumed out of %s\n", h.path)
			continue
		}
		info, err := os.Stat(h.path)
		if err == nil && h.backup {
			fmt.Fprintf(i.Out, "a copy of %s as it is: %s.before\n", h.path, h.path)
			err = atomicfile.Write(h.path+".before", h.with, info.Mode().Perm())
		}
		if err == nil {
			err = atomicfile.Write(linkTarget(h.path), h.without, info.Mode().Perm())
		}
		if err != nil {
			return true, fmt.Errorf("take resumed out of the settings of %s: %w", h.title, err)
		}
		fmt.Fprintf(i.Out, "took resumed out of %s\n", h.path)
	}
	if len(hooks) > 0 && !dryRun {
		err = os.RemoveAll(copiesDir())
	}
	return len(hooks) > 0, err
}

var (
	ownNotify  = lazy.Regexp(`(?m)^notify = \["(?:[^"\\\n]|\\.)*resumed", "hook", "codex"\]\n`)
	addedWords = lazy.Regexp(`"(?:[^"\\\n]|\\.)*resumed", "hook", "codex", "--"(?:, )?`)
)

// withoutNotify removes the notify program of resumed, and keeps the user's own.
func withoutNotify(config []byte) []byte {
	return addedWords().ReplaceAll(ownNotify().ReplaceAll(config, nil), nil)
}

var ourCall = lazy.Regexp(`\bresumed'? hook claude-code\b`)

// withoutCalls removes the hooks that call resumed. It returns the copied settings if nothing else has
// changed since, else other bytes of the same meaning.
func withoutCalls(settings []byte) []byte {
	now := decode(settings)
	if now == nil || !ourCall().Match(settings) {
		return settings
	}
	if now["hooks"] = withoutOurs(now["hooks"]); now["hooks"] == nil {
		delete(now, "hooks")
	}
	if copied := copiedSettings(); reflect.DeepEqual(decode(copied), now) {
		return copied
	}
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	_ = encoder.Encode(now) // what was decoded can be encoded
	return text.Bytes()
}

// decode returns a JSON object, with its numbers as they are written; nil: it is none.
func decode(text []byte) (object map[string]any) {
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	if decoder.Decode(&object) != nil {
		return nil
	}
	return object
}

// withoutOurs returns hooks without calls of resumed; nil: there are no others. A group is removed with
// its last call.
func withoutOurs(value any) any {
	switch v := value.(type) {
	case []any:
		if v = slices.DeleteFunc(v, func(one any) bool { return withoutOurs(one) == nil }); len(v) > 0 {
			return v
		}
		return nil
	case map[string]any:
		if call, _ := v["command"].(string); ourCall().MatchString(call) {
			return nil
		}
		for key, inner := range v {
			if left := withoutOurs(inner); left != nil {
				v[key] = left
			} else if delete(v, key); key == "hooks" {
				return nil
			}
		}
		if len(v) == 0 {
			return nil
		}
	}
	return value
}

// ExamineOldHooks reports hooks of an earlier release.
func ExamineOldHooks(report Report) {
	for _, h := range findOldHooks() {
		report.Warn("hooks", fmt.Sprintf("%s calls resumed by what an earlier release wrote into %s; the plugin replaces it", h.title, h.path), "resumed uninstall --hooks")
	}
}
