package service

import (
	"crypto/sha256"
	"encoding/hex"
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
	Sum     string   `json:"sum"`  // of the text that install wrote
	Made    []string `json:"made"` // directories, and the program copy

	before []byte
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
	kept := hookRecord{Path: edit.path, Existed: edit.existed, Sum: checksum(edit.after), before: edit.before}
	if old, known := keptHook(edit.agent); known {
		made = append(old.Made, made...)
		untouched := old.Path == edit.path && old.Sum == checksum(edit.before)
		kept.Existed = edit.existed && (old.Existed || !untouched)
	}
	if kept.before, err = agents.Hook(edit.agent).Remove(edit.before); edit.existed && err != nil {
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
	if err := atomicfile.Write(copied, kept.before, 0o600); err != nil {
		return fmt.Errorf("keep a copy: %w", err)
	}
	if err := atomicfile.Write(record, data, 0o600); err != nil {
		return fmt.Errorf("keep a copy: %w", err)
	}
	return nil
}

// keptHook loads the record of an agent's settings.
func keptHook(agent string) (kept hookRecord, known bool) {
	record, copied, err := hookPlaces(agent)
	if err != nil {
		return kept, false
	}
	data, err := os.ReadFile(record)
	if err != nil || json.Unmarshal(data, &kept) != nil {
		return hookRecord{}, false
	}
	if kept.before, err = os.ReadFile(copied); err != nil {
		kept.Sum = "" // without the copy, our part is cut out of the file
	}
	return kept, true
}

// undo returns the settings without our part: the original if nobody changed them since. Nil: the file
// was made by install, and holds nothing else.
func (k hookRecord) undo(now hookEdit, remove func([]byte) ([]byte, error)) ([]byte, error) {
	switch {
	case k.Path != now.path || k.Sum != checksum(now.before):
		return remove(now.before)
	case !k.Existed:
		return nil, nil
	default:
		return k.before, nil
	}
}

// forgetHook removes the record and the copy.
func forgetHook(agent string) {
	record, copied, err := hookPlaces(agent)
	if err != nil {
		return
	}
	_, _ = os.Remove(record), os.Remove(copied) // most have none
}

func checksum(text []byte) string {
	hash := sha256.Sum256(text)
	return hex.EncodeToString(hash[:])
}
