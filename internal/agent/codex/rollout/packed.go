package rollout

import (
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/klauspost/compress/zstd"
)

// packedSuffix ends the name of a rollout that Codex has compressed because its session was silent for a
// week. Codex unpacks it again when the session is continued.
const packedSuffix = ".zst"

// MatchPacked accepts compressed rollouts.
func MatchPacked(rel string) bool {
	plain := rel[:max(0, len(rel)-len(packedSuffix))]
	return plain+packedSuffix == rel && Match(plain)
}

// maxUnpacked bounds how much of a rollout is unpacked.
const maxUnpacked = 2 << 30

// Readable returns the path of a rollout that can be read line by line: its own, or that of a temporary
// copy if Codex has compressed it. remove removes the copy.
func Readable(path string) (readable string, remove func(), err error) {
	remove = func() {}
	if _, err := os.Lstat(path); err == nil {
		return path, remove, nil
	}
	packed := path + packedSuffix
	if info, err := os.Lstat(packed); err != nil || !info.Mode().IsRegular() {
		return path, remove, nil // it is gone
	}
	dir, err := os.MkdirTemp("", "resumed-rollout-")
	if err != nil {
		return "", remove, fmt.Errorf("unpack %s: %w", packed, err)
	}
	remove = func() { _ = os.RemoveAll(dir) } // the directory of temporary files is emptied anyway
	readable = filepath.Join(dir, filepath.Base(path))
	if err := unpack(packed, readable); err != nil {
		remove()
		return "", func() {}, fmt.Errorf("unpack %s: %w", packed, err)
	}
	return readable, remove, nil
}

func unpack(packed, to string) error {
	in, err := os.Open(packed)
	if err != nil {
		return err
	}
	defer in.Close()
	reader, err := zstd.NewReader(in, zstd.WithDecoderConcurrency(1))
	if err != nil {
		return err
	}
	defer reader.Close()
	out, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	n, err := io.Copy(out, io.LimitReader(reader, maxUnpacked))
	if closed := out.Close(); err == nil {
		err = closed
	}
	if err == nil && n == maxUnpacked {
		err = fmt.Errorf("it is longer than %d bytes", maxUnpacked)
	}
	return err
}
