package e2e

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// install returns the directory of the kit's programs, and whether they are of
// the pinned version. That is installed once, into a cache outside of the tree.
// Where the registry cannot be reached the agent in PATH is taken, whatever its
// version, and without one the test is skipped: that is no fault of ours.
func install(t *testing.T, k kit) (bin string, pinned bool) {
	t.Helper()
	dir := filepath.Join(cache(t), k.program+"@"+k.version)
	bin = filepath.Join(dir, "node_modules", ".bin")
	if _, err := os.Stat(filepath.Join(bin, k.program)); err == nil {
		return bin, true
	}
	packages := append([]string{k.npm + "@" + k.version}, k.also...)
	if k.bundle != "" {
		packages = k.also
	}
	err := npmInstall(t, dir, k, packages...)
	if err == nil {
		return bin, true
	}
	if _, unreachable := errors.AsType[*unreachableError](err); !unreachable {
		require.NoError(t, err)
	}
	if path, lookErr := exec.LookPath(k.program); lookErr == nil {
		t.Logf("%s %s could not be installed, the one in PATH is tried: %v", k.agent, k.version, err)
		return filepath.Dir(path), false
	}
	table.add(result{place: k.place, kit: k.name(), outcome: "SKIPPED: not installed, and " + err.Error()})
	t.Skipf("SKIPPED: %s %s is not installed: %v", k.agent, k.version, err)
	return "", false
}

// cache is where agents are installed: E2E_CACHE, else the user's own cache.
func cache(t *testing.T) string {
	t.Helper()
	dir := os.Getenv("E2E_CACHE")
	if dir == "" {
		home, err := os.UserCacheDir()
		require.NoError(t, err)
		dir = filepath.Join(home, "resumed-e2e")
	}
	dir, err := filepath.Abs(dir)
	require.NoError(t, err)
	require.NoError(t, os.MkdirAll(dir, 0o755))
	return dir
}

// unreachableError is an installation that failed for want of a registry.
type unreachableError struct{ why string }

func (e *unreachableError) Error() string { return e.why }

var noRegistry = regexp.MustCompile(`ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ECONNRESET|ETIMEDOUT|ENETUNREACH|EHOSTUNREACH|socket hang up|E50[234]`)

// npmInstall installs packages into dir, and the kit's bundle, or leaves nothing there.
func npmInstall(t *testing.T, dir string, k kit, packages ...string) error {
	npm, err := exec.LookPath("npm")
	if err != nil {
		return &unreachableError{"there is no npm"}
	}
	fresh, err := os.MkdirTemp(filepath.Dir(dir), ".install-")
	require.NoError(t, err)
	defer os.RemoveAll(fresh)

	ctx, cancel := context.WithTimeoutCause(t.Context(), 5*time.Minute, errors.New("the installation took too long"))
	defer cancel()
	args := append([]string{
		"install", "--prefix", fresh, "--cache", filepath.Join(filepath.Dir(dir), "npm"),
		"--no-save", "--no-audit", "--no-fund", "--fetch-retries=1", "--loglevel=error",
	}, packages...)
	began := time.Now()
	out, err := exec.CommandContext(ctx, npm, args...).CombinedOutput()
	switch {
	case ctx.Err() != nil:
		return &unreachableError{context.Cause(ctx).Error()}
	case err != nil && noRegistry.Match(out):
		return &unreachableError{"the registry cannot be reached: " + noRegistry.FindString(string(out))}
	case err != nil:
		return fmt.Errorf("npm install %s: %w\n%s", strings.Join(packages, " "), err, out)
	}
	if k.bundle != "" {
		if out, err = unpack(ctx, npm, fresh, k); err != nil {
			return fmt.Errorf("unpack %s: %w\n%s", k.npm, err, out)
		}
	}
	t.Logf("installed %s %s in %s", k.name(), strings.Join(packages, " "), time.Since(began).Round(time.Second))
	if err := os.Rename(fresh, dir); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return nil
}

// unpack unpacks a package that needs none of those that it names, beside those that are installed.
func unpack(ctx context.Context, npm, dir string, k kit) ([]byte, error) {
	modules := filepath.Join(dir, "node_modules")
	home := filepath.Join(modules, filepath.FromSlash(k.npm))
	if err := os.MkdirAll(home, 0o755); err != nil {
		return nil, err
	}
	if out, err := exec.CommandContext(ctx, npm, "pack", "--loglevel=error", "--pack-destination", dir, k.npm+"@"+k.version).CombinedOutput(); err != nil {
		return out, err
	}
	packed, _ := filepath.Glob(filepath.Join(dir, "*.tgz")) // errs on a bad pattern only
	if out, err := exec.CommandContext(ctx, "tar", "-xzf", strings.Join(packed, ""), "-C", home, "--strip-components=1").CombinedOutput(); err != nil {
		return out, err
	}
	return nil, os.Symlink(filepath.Join("..", filepath.FromSlash(k.npm), filepath.FromSlash(k.bundle)), filepath.Join(modules, ".bin", k.program))
}
