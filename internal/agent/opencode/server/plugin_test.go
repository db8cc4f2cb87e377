package server

import (
	"bytes"
	"os"
	"testing"
	"time"

	"resumed/internal/limit"
)

// Any content of the plugin's file is parsed or skipped.
func FuzzPluginLine(f *testing.F) {
	data, err := os.ReadFile("../testdata/plugin-events.jsonl")
	if err != nil {
		f.Fatal(err)
	}
	for line := range bytes.Lines(data) {
		f.Add(line)
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		e, ok := parseLine(line)
		if ok && (e.Session == "" || e.PID <= 0 || e.Kind == 0 || e.AtMS <= 0) {
			t.Fatalf("%#v", e)
		}
		e.Status.Verdict(limit.Reader{}, time.UnixMilli(e.AtMS))
	})
}
