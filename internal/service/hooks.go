package service

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"resumed/internal/agents"
	"resumed/internal/atomicfile"
	"resumed/internal/config"
	"resumed/internal/hint"
	"resumed/internal/program"
	"resumed/internal/sanitize"
)

// hookEdit is a change to an agent's own settings.
type hookEdit struct {
	agent, title  string
	path          string
	before, after []byte
	existed       bool // false: install makes or made the file
}

// installWithHooks installs the service and makes agents call this program. The hooks are also
// installed without a service manager; that is not an error.
func (i Installer) installWithHooks(ctx context.Context, s spec, o Options, install func() error) error {
	plan, err := i.planHooks(ctx, s.program)
	if err != nil {
		return err
	}
	if !i.showHooks(plan, o) {
		return hint.With(errors.New("nothing was done"), "resumed install --hooks --yes, or without --hooks")
	}
	err = install()
	without, ok := errors.AsType[noManager](err)
	if !o.DryRun {
		if hookErr := i.addHooks(s, plan, without.made); hookErr != nil {
			return errors.Join(hookErr, err)
		}
	}
	if ok {
		fmt.Fprintf(i.Err, "No service was installed: %v\nStart the daemon with %s\n", without.error, unsupervised(s.program))
		return nil
	}
	return err
}

// planHooks returns the changes that make the installed agents call the program. It changes nothing,
// and refuses settings that it cannot parse.
func (i Installer) planHooks(ctx context.Context, called string) ([]hookEdit, error) {
	cfg, err := i.Config()
	if err != nil {
		return nil, err
	}
	made, err := agents.MakeAll(cfg)
	if err != nil {
		return nil, err
	}
	var plan []hookEdit
	for _, b := range agents.Builtin() {
		if b.Hook == nil || !exists(filepath.Dir(b.Hook.File())) {
			continue
		}
		edit, err := readEdit(b.Name, b.Title, b.Hook.File())
		if err == nil {
			err = checkSettings(edit.path, edit.before)
		}
		version := ""
		if found, missing := made[b.Name].Program(); err == nil && missing == nil {
			version = program.Version(ctx, found.Environment(nil), found.Path, "--version")
		}
		if err == nil {
			edit.after, err = b.Hook.Add(edit.before, called, version)
		}
		if err == nil {
			err = checkSettings(edit.path, edit.after)
		}
		if err != nil {
			return nil, hint.With(fmt.Errorf("%s stays as it is: %w", edit.path, err), "correct it, then resumed install --hooks")
		}
		plan = append(plan, edit)
	}
	if len(plan) == 0 {
		return nil, errors.New("neither Claude Code nor Codex was found: only these can call hooks")
	}
	return plan, nil
}

// readEdit reads the settings of an agent. A missing file has none.
func readEdit(agent, title, path string) (hookEdit, error) {
	edit := hookEdit{agent: agent, title: title, path: path}
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return edit, nil
	case err != nil:
		return edit, err
	case !info.Mode().IsRegular():
		return edit, errors.New("it is not a regular file")
	}
	edit.existed = true
	edit.before, err = os.ReadFile(path)
	return edit, err
}

// checkSettings refuses invalid TOML, which the agent could not read. JSON is parsed when it is
// changed.
func checkSettings(path string, text []byte) error {
	if filepath.Ext(path) != ".toml" {
		return nil
	}
	if err := config.CheckTOML(text); err != nil {
		return fmt.Errorf("it is not valid TOML: %w", err)
	}
	return nil
}

func (e hookEdit) changes() bool { return !bytes.Equal(e.before, e.after) }

// showHooks shows the changes, and returns whether the user wants them.
func (i Installer) showHooks(plan []hookEdit, o Options) (wanted bool) {
	changes := false
	for _, edit := range plan {
		if !edit.changes() {
			fmt.Fprintf(i.Out, "%s calls resumed already: %s\n", edit.title, edit.path)
			continue
		}
		changes = true
		fmt.Fprintf(i.Out, "%s:\n%s", edit.path, sanitize.Text(difference(edit.before, edit.after)))
	}
	return o.DryRun || o.Yes || !changes || i.Ask("Change the settings of your agents like this? [y/N] ")
}

// addHooks changes the settings as planned. It stores a copy of each file, and a list of what was made
// for the hooks only.
func (i Installer) addHooks(s spec, plan []hookEdit, made []string) error {
	if !exists(s.program) {
		var err error
		if made, err = i.copyPrograms(s); err != nil {
			return err
		}
	}
	for _, edit := range plan {
		if !edit.changes() {
			continue
		}
		now, err := readEdit(edit.agent, edit.title, edit.path)
		if err == nil && !bytes.Equal(now.before, edit.before) {
			err = errors.New("it was changed in the meantime")
		}
		if err != nil {
			return hint.With(fmt.Errorf("%s stays as it is: %w", edit.path, err), "resumed install --hooks")
		}
		if err := keepHook(edit, made); err != nil {
			return err
		}
		made = nil // stored with the first edit
		if err := writeSettings(edit.path, edit.after); err != nil {
			return fmt.Errorf("write the settings of %s: %w", edit.title, err)
		}
		fmt.Fprintf(i.Out, "wrote %s: new sessions of %s now report to the daemon\n", edit.path, edit.title)
	}
	return nil
}

// writeSettings writes an agent's settings, which may be a link, and keeps the mode of the file.
func writeSettings(path string, text []byte) error {
	mode := fs.FileMode(0o600) // as agents do
	if info, err := os.Stat(path); err == nil {
		mode = info.Mode().Perm()
	}
	path = linkTarget(path)
	if err := atomicfile.Write(path, text, mode); err != nil {
		return err
	}
	return os.Chmod(path, mode) // despite the umask
}

// removeHooks removes our part from the settings of agents, and returns whether there was any. The
// program copy is removed too, unless it is needed.
func (i Installer) removeHooks(dryRun, needed bool) (found bool, err error) {
	var made []string
	for _, b := range agents.Builtin() {
		if b.Hook == nil {
			continue
		}
		kept, _ := keptHook(b.Name)
		paths := []string{b.Hook.File()}
		if kept.Path != "" && kept.Path != paths[0] {
			paths = append(paths, kept.Path)
		}
		for _, path := range paths {
			edit, err := readEdit(b.Name, b.Title, path)
			if err == nil && edit.existed {
				edit.after, err = b.Hook.Remove(edit.before)
			}
			if err != nil {
				fmt.Fprintf(i.Err, "resumed: %s stays as it is: %v\n", path, err)
				continue
			}
			was, err := i.undoHook(edit, kept, dryRun)
			if err != nil {
				return found, err
			}
			found = found || was
		}
		if !dryRun {
			forgetHook(b.Name)
		}
		made = append(made, kept.Made...)
	}
	if !dryRun && !needed {
		i.removeMade(made)
	}
	return found, nil
}

// undoHook writes the remaining settings, or removes a file that install made.
func (i Installer) undoHook(edit hookEdit, kept hookRecord, dryRun bool) (was bool, err error) {
	empty := len(bytes.Trim(edit.after, "{} \r\n\t")) == 0
	switch gone := empty && kept.Path == edit.path && !kept.Existed; {
	case !edit.existed || !edit.changes():
		return false, nil
	case dryRun && gone:
		fmt.Fprintln(i.Out, "rm", edit.path)
	case dryRun:
		fmt.Fprintf(i.Out, "# change %s\n%s", edit.path, sanitize.Text(difference(edit.before, edit.after)))
	case gone:
		if err := os.Remove(edit.path); err != nil {
			return true, fmt.Errorf("remove file: %w", err)
		}
		fmt.Fprintln(i.Out, "removed", edit.path)
	default:
		if err := writeSettings(edit.path, edit.after); err != nil {
			return true, fmt.Errorf("write the settings of %s: %w", edit.title, err)
		}
		fmt.Fprintf(i.Out, "took resumed out of %s\n", edit.path)
	}
	return true, nil
}

// ExamineHooks reports which agents call this program, and whether the path is right.
func ExamineHooks(report Report) {
	for _, b := range agents.Builtin() {
		if b.Hook == nil || !exists(filepath.Dir(b.Hook.File())) {
			continue
		}
		edit, err := readEdit(b.Name, b.Title, b.Hook.File())
		program := b.Hook.Calls(edit.before)
		info, missing := os.Stat(program)
		switch {
		case err != nil:
			report.Warn("hooks", fmt.Sprintf("%s: %v", edit.path, err), "")
		case program == "":
			report.OK("hooks", b.Title+" does not call resumed, and need not: its transcripts are watched (resumed install --hooks adds hooks)")
		case missing != nil || !info.Mode().IsRegular() || info.Mode().Perm()&0o111 == 0:
			report.Warn("hooks", fmt.Sprintf("%s calls %s, which is not a program", b.Title, program), "resumed install --hooks, or resumed uninstall --hooks")
		default:
			report.OK("hooks", fmt.Sprintf("%s calls %s", b.Title, program))
		}
	}
}

// difference shows the changed lines between two texts.
func difference(before, after []byte) string {
	old, fresh := splitLines(before), splitLines(after)
	start := 0
	for start < min(len(old), len(fresh)) && old[start] == fresh[start] {
		start++
	}
	end := 0
	for end < min(len(old), len(fresh))-start && old[len(old)-1-end] == fresh[len(fresh)-1-end] {
		end++
	}
	const around = 2
	var b strings.Builder
	put := func(sign string, some []string) {
		for _, line := range some {
			b.WriteString(sign + " " + line + "\n")
		}
	}
	put(" ", old[max(0, start-around):start])
	put("-", old[start:len(old)-end])
	put("+", fresh[start:len(fresh)-end])
	put(" ", old[len(old)-end:min(len(old), len(old)-end+around)])
	return b.String()
}

func splitLines(text []byte) []string {
	if len(text) == 0 {
		return nil
	}
	return strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
}
