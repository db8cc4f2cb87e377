package reload

import (
	"flag"
	"os"
	"testing"
)

// The tests of Watch wait far more than they compute: two at a time, as on a
// small machine, would be slow for nothing.
func TestMain(m *testing.M) {
	flag.Parse()
	if fuzzing := flag.Lookup("test.fuzz").Value.String() != ""; !fuzzing {
		if err := flag.Set("test.parallel", "16"); err != nil {
			panic(err)
		}
	}
	os.Exit(m.Run())
}
