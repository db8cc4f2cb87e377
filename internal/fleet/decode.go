package fleet

import (
	"encoding/json"
	"fmt"
	"reflect"
	"regexp"
	"time"

	"resumed/internal/resume"
	"resumed/internal/sanitize"
)

// Bounds of what another host may have this one read.
const (
	// LargestValue is the most bytes of one thing that are read. A host has much less to say of one.
	LargestValue = 16 << 10

	mostItems    = 100 // of a list
	longestText  = 500 // characters
	largestCount = 1_000_000
)

// Decode reads what another host has written. It may be broken into: what it wrote is bounded, can be shown on a
// terminal, and can be written as JSON again. On an error into is of no use.
func Decode(data []byte, into any) error {
	if len(data) > LargestValue {
		return fmt.Errorf("it has %d bytes, and %d are read at most", len(data), LargestValue)
	}
	if err := json.Unmarshal(data, into); err != nil {
		return err
	}
	clean(reflect.ValueOf(into))
	return nil
}

var timeType = reflect.TypeFor[time.Time]()

// clean makes all texts, times and lists harmless that can be reached from a value.
func clean(v reflect.Value) {
	switch v.Kind() {
	case reflect.Pointer:
		if v.IsNil() {
			return
		}
		if clean(v.Elem()); v.Elem().Type() == timeType && v.Elem().IsZero() && v.CanSet() {
			v.SetZero()
		}
	case reflect.Struct:
		if t, ok := v.Interface().(time.Time); ok {
			if !resume.Tellable(t) {
				v.SetZero()
			}
			return
		}
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				clean(v.Field(i))
			}
		}
	case reflect.Slice:
		if v.Len() > mostItems {
			few := reflect.MakeSlice(v.Type(), mostItems, mostItems) // the array behind the many is not kept
			reflect.Copy(few, v)
			v.Set(few)
		}
		for i := range v.Len() {
			clean(v.Index(i))
		}
	case reflect.String:
		v.SetString(sanitize.Short(v.String(), longestText))
	}
}

// keyName is how keys and names of hosts are written.
var keyName = regexp.MustCompile(`^[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)*$`)

// GoodKey reports whether a key is one that a host writes, and can be shown.
func GoodKey(key string) bool { return len(key) <= 200 && keyName.MatchString(key) }
