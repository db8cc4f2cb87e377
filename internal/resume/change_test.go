package resume

import (
	"reflect"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// idleSession was never stopped.
func idleSession() Session {
	at := time.Now().Round(0)
	return Session{
		Key: Key{"claude-code", "4f2a77aa-0000-4000-8000-000000000000"}, Name: "4f2a", Account: "claude-code:default", Provider: "p", Cwd: "/src/shop",
		Transcript: "/home/me/.claude/projects/-src-shop/4f2a77aa-0000-4000-8000-000000000000.jsonl", Kind: Headless,
		Seen: Position{"1f3a-2", 12345}, State: Watching, Reason: "stopped by a person",
		BornAt: at.Add(-time.Hour), FoundAt: at, MovedAt: at.Add(time.Second), PromptedAt: at.Add(-time.Minute),
	}
}

// fill sets a value to something other than zero.
func fill(v reflect.Value) {
	switch v.Kind() {
	case reflect.String:
		v.SetString("something")
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int64:
		v.SetInt(7)
	case reflect.Uint8:
		v.SetUint(2)
	case reflect.Float64:
		v.SetFloat(0.5)
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[time.Time]() {
			v.Set(reflect.ValueOf(time.Unix(1_790_000_000, 5)))
			return
		}
		for _, field := range v.Fields() {
			if field.CanSet() {
				fill(field)
			}
		}
	default:
		panic("nobody has thought of a " + v.Kind().String())
	}
}

// WorksOn is false if anything but the position and the time of the session changed.
func TestWorkingOnIsNothingElseThanMoving(t *testing.T) {
	for field := range reflect.TypeFor[Session]().Fields() {
		for _, before := range []Session{idleSession(), {Key: Key{"bot", "a"}, State: Watching, LimitedAt: time.Now()}} {
			after := before
			after.Seen, after.MovedAt = Position{"77-1", 9}, time.Now().Add(time.Hour)
			require.True(t, Change{Before: before, After: after}.WorksOn())
			if field.Name == "Seen" || field.Name == "MovedAt" {
				continue
			}
			fill(reflect.ValueOf(&after).Elem().FieldByIndex(field.Index))
			require.False(t, Change{Before: before, After: after}.WorksOn(), field.Name)
		}
	}
}
