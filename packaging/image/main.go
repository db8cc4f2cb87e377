// Command image writes a container image of static programs as a tar file, in the layouts of OCI and of
// `docker save` at once, so that podman and docker load it. The same programs give the same bytes.
package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

const (
	manifestType = "application/vnd.oci.image.manifest.v1+json"
	configType   = "application/vnd.oci.image.config.v1+json"
	layerType    = "application/vnd.oci.image.layer.v1.tar+gzip"
)

func main() {
	programs := flag.String("programs", "", "the static programs, with commas; the first one is started")
	arch := flag.String("arch", "", "what they run on")
	version := flag.String("version", "", "their version")
	seconds := flag.Int64("time", 0, "when they were made, in seconds since 1970")
	out := flag.String("out", "", "the file to write")
	flag.Parse()
	if err := write(*out, strings.Split(*programs, ","), *arch, *version, time.Unix(*seconds, 0).UTC()); err != nil {
		fmt.Fprintln(os.Stderr, "image:", err)
		os.Exit(1)
	}
}

// entry is one file or directory of an archive.
type entry struct {
	name string
	mode int64
	data []byte
}

func archive(at time.Time, entries []entry) ([]byte, error) {
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, e := range entries {
		header := &tar.Header{Name: e.name, Mode: e.mode, Size: int64(len(e.data)), ModTime: at, Typeflag: tar.TypeReg}
		if strings.HasSuffix(e.name, "/") {
			header.Typeflag = tar.TypeDir
		}
		if err := w.WriteHeader(header); err != nil {
			return nil, fmt.Errorf("write %s: %w", e.name, err)
		}
		if _, err := w.Write(e.data); err != nil {
			return nil, fmt.Errorf("write %s: %w", e.name, err)
		}
	}
	if err := w.Close(); err != nil {
		return nil, fmt.Errorf("end the archive: %w", err)
	}
	return b.Bytes(), nil
}

// layout collects the blobs of an image, each named by its hash.
type layout struct{ entries []entry }

func (l *layout) blob(data []byte, mediaType string) map[string]any {
	digest := sum(data)
	l.entries = append(l.entries, entry{blobPath(digest), 0o644, data})
	return map[string]any{"mediaType": mediaType, "digest": digest, "size": len(data)}
}

func (l *layout) file(name string, value any) {
	l.entries = append(l.entries, entry{name, 0o644, encode(value)})
}

func encode(value any) []byte {
	data, err := json.Marshal(value)
	if err != nil {
		panic(err) // cannot happen: maps of text, numbers and times
	}
	return data
}

func sum(data []byte) string {
	digest := sha256.Sum256(data)
	return "sha256:" + hex.EncodeToString(digest[:])
}

func blobPath(digest string) string { return "blobs/" + strings.Replace(digest, ":", "/", 1) }

func write(out string, programs []string, arch, version string, at time.Time) error {
	// `resumed demo` needs a directory for temporary files.
	files := []entry{{"tmp/", 0o1777, nil}, {"usr/", 0o755, nil}, {"usr/bin/", 0o755, nil}}
	for _, program := range programs {
		data, err := os.ReadFile(program)
		if err != nil {
			return fmt.Errorf("read a program: %w", err)
		}
		files = append(files, entry{"usr/bin/" + filepath.Base(program), 0o755, data})
	}
	layer, err := archive(at, files)
	if err != nil {
		return err
	}
	var zipped bytes.Buffer
	zip := gzip.NewWriter(&zipped)
	_, err = zip.Write(layer)
	if err := errors.Join(err, zip.Close()); err != nil {
		return fmt.Errorf("compress the layer: %w", err)
	}
	config := encode(map[string]any{
		"created": at, "architecture": arch, "os": "linux",
		"config": map[string]any{
			"Entrypoint": []string{"/usr/bin/" + filepath.Base(programs[0])}, "Env": []string{"PATH=/usr/local/bin:/usr/bin:/bin"}, "WorkingDir": "/",
			"Labels": map[string]string{"org.opencontainers.image.title": "resumed", "org.opencontainers.image.version": version, "org.opencontainers.image.licenses": "MIT"},
		},
		"rootfs":  map[string]any{"type": "layers", "diff_ids": []string{sum(layer)}},
		"history": []map[string]any{{"created": at, "created_by": "resumed"}},
	})
	whole, err := archive(at, describe(config, zipped.Bytes(), strings.ReplaceAll(version, "+", "-")))
	if err != nil {
		return err
	}
	return os.WriteFile(out, whole, 0o644)
}

// describe returns the files of the image.
func describe(config, layer []byte, tag string) []entry {
	var l layout
	about := l.blob(config, configType)
	content := l.blob(layer, layerType)
	pointer := l.blob(encode(map[string]any{"schemaVersion": 2, "mediaType": manifestType, "config": about, "layers": []any{content}}), manifestType)
	pointer["annotations"] = map[string]string{"io.containerd.image.name": "localhost/resumed:" + tag, "org.opencontainers.image.ref.name": tag}
	l.file("oci-layout", map[string]string{"imageLayoutVersion": "1.0.0"})
	l.file("index.json", map[string]any{"schemaVersion": 2, "manifests": []any{pointer}})
	l.file("manifest.json", []map[string]any{{
		"Config": blobPath(sum(config)), "RepoTags": []string{"localhost/resumed:" + tag}, "Layers": []string{blobPath(sum(layer))},
	}})
	return l.entries
}
