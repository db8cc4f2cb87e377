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

// hookRecord is what is known of settings that install has changed. The copy of what they
// were lies beside it.
type hookRecord struct {
	Path    string   `json:"path"`
	Existed bool     `json:"existed"`
	Sum     string   `json:"sum"`  // of what install wrote
	Made    []string `json:"made"` // directories, and a copy of the program

	before []byte
}

// hookPlaces returns where the record of an agent's settings is kept, and their copy.
func hookPlaces(agent string) (record, before string, err error) {
	dir, err := dirs.State(os.Getenv)
	if err != nil {
		return "", "", err
	}
	dir = filepath.Join(dir, "hooks")
	return filepath.Join(dir, agent+".json"), filepath.Join(dir, agent+".before"), nil
}

// keepHook keeps what an agent's settings were without us, for their owner alone: there
// may be secrets in them.
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

// keptHook returns what is known of an agent's settings.
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
		kept.Sum = "" // the copy is gone: our part is taken out by itself
	}
	return kept, true
}

// undo returns the settings without us: as they were where nobody has changed them since,
// else without our part. Nil: the file was made by us, and nothing else is in it.
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

// forgetHook removes what was kept of an agent's settings.
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
