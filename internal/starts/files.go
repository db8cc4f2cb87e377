package starts

import (
	"crypto/sha256"
	"encoding/hex"
	"io"
	"maps"
	"os"
	"slices"

	"resumed/internal/regular"
	"resumed/internal/resume"
)

// maxFile is how much of a file is hashed.
const maxFile = 4 << 20

// HashFiles returns a hash of each of these files. Directories and files that cannot be read are left
// out.
func HashFiles(paths []string) map[string]string {
	var hashes map[string]string
	for _, path := range paths {
		file, err := os.Open(path)
		if regular.Check(path) != nil || err != nil {
			continue
		}
		hash := sha256.New()
		_, err = io.Copy(hash, io.LimitReader(file, maxFile))
		_ = file.Close() // nothing was written
		if err != nil {
			continue // a directory
		}
		if hashes == nil {
			hashes = make(map[string]string)
		}
		hashes[path] = hex.EncodeToString(hash.Sum(nil)[:16])
	}
	return hashes
}

// ChangedFiles returns the files that flags of the start name and that have changed since.
func ChangedFiles(o resume.Origin) []string {
	now := HashFiles(slices.Collect(maps.Keys(o.Files)))
	return slices.DeleteFunc(slices.Sorted(maps.Keys(o.Files)), func(path string) bool {
		hash, there := now[path]
		return !there || hash == o.Files[path]
	})
}
