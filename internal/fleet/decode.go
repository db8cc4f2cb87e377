package fleet

import (
	"encoding/json"
	"fmt"
	"reflect"
	"time"

	"resumed/internal/resume"
	"resumed/internal/sanitize"
)

// Bounds of what is read from other hosts.
const (
	// LargestValue is the largest value that is read. Honest hosts write much less.
	LargestValue = 16 << 10

	mostItems    = 100 // of a list
	longestText  = 500 // characters
	largestCount = 1_000_000
)

// Decode reads what another host has written. That host may be compromised: the result is bounded, can
// be shown on a terminal, and can be written as JSON again. After an error, into must not be used.
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

// clean bounds and sanitizes all texts, times and lists that can be reached from a value.
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
			if !resume.FitsJSON(t) {
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
			few := reflect.MakeSlice(v.Type(), mostItems, mostItems) // without the array of the long list
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
