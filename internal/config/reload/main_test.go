package reload

import (
	"flag"
	"os"
	"testing"
)

// The tests of Watch mostly wait: running only two at a time on a small machine would be slow for
// nothing.
func TestMain(m *testing.M) {
	flag.Parse()
	if fuzzing := flag.Lookup("test.fuzz").Value.String() != ""; !fuzzing {
		if err := flag.Set("test.parallel", "16"); err != nil {
			panic(err)
		}
	}
	os.Exit(m.Run())
}
