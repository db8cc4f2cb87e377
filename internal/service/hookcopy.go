package service

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	"resumed/internal/agents"
	"resumed/internal/atomicfile"
	"resumed/internal/dirs"
)

// hookRecord describes settings that install changed. A copy of the original is stored next to it.
type hookRecord struct {
	Path    string   `json:"path"`
	Existed bool     `json:"existed"`
	Made    []string `json:"made"` // directories, and the program copy
}

// hookPlaces returns the paths of an agent's record and of the copy of its settings.
func hookPlaces(agent string) (record, before string, err error) {
	dir, err := dirs.State(os.Getenv)
	if err != nil {
		return "", "", err
	}
	dir = filepath.Join(dir, "hooks")
	return filepath.Join(dir, agent+".json"), filepath.Join(dir, agent+".before"), nil
}

// keepHook stores an agent's settings without our part, readable by the user only: they may hold
// secrets.
func keepHook(edit hookEdit, made []string) error {
	record, copied, err := hookPlaces(edit.agent)
	if err != nil {
		return err
	}
	kept := hookRecord{Path: edit.path, Existed: edit.existed}
	if old, known := keptHook(edit.agent); known {
		made = append(old.Made, made...)
		kept.Existed = edit.existed && (old.Existed || old.Path != edit.path)
	}
	before, err := agents.Hook(edit.agent).Remove(edit.before)
	if edit.existed && err != nil {
		return err
	}
	fresh, err := makeDirs(filepath.Dir(record))
	if err != nil {
		return fmt.Errorf("make a directory: %w", err)
	}
	for _, dir := range fresh {
		_ = os.Chmod(dir, 0o700)
	}
	kept.Made = append(made, fresh...)
	data, err := json.Marshal(kept)
	if err != nil {
		return err
	}
	if err := atomicfile.Write(copied, before, 0o600); err != nil {
		return fmt.Errorf("keep a copy: %w", err)
	}
	if err := atomicfile.Write(record, data, 0o600); err != nil {
		return fmt.Errorf("keep a copy: %w", err)
	}
	return nil
}

// keptHook loads the record of an agent's settings.
func keptHook(agent string) (kept hookRecord, known bool) {
	record, _, err := hookPlaces(agent)
	if err != nil {
		return kept, false
	}
	data, err := os.ReadFile(record)
	if err != nil || json.Unmarshal(data, &kept) != nil {
		return hookRecord{}, false
	}
	return kept, true
}

// forgetHook removes the record and the copy.
func forgetHook(agent string) {
	record, copied, err := hookPlaces(agent)
	if err != nil {
		return
	}
	_, _ = os.Remove(record), os.Remove(copied) // most have none
}
