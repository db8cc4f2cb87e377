package agent

import "bytes"

// Kind is what records of one type may be worth.
type Kind struct {
	Type   string
	Weight Weight
}

var typeFirst = []byte(`{"type":`)

// SiftByType returns a sieve for records that say what they are in a field type, most of
// them first. Records of other types are worth nothing. Within a JSON string a quote is
// escaped, so a type in quotes stands only where a record itself has it.
func SiftByType(kinds ...Kind) func(line []byte) Weight {
	quoted := make([][]byte, len(kinds))
	for i, kind := range kinds {
		quoted[i] = []byte(`"` + kind.Type + `"`)
	}
	return func(line []byte) Weight {
		rest, first := bytes.CutPrefix(line, typeFirst)
		for i, kind := range kinds {
			if first && bytes.HasPrefix(rest, quoted[i]) || !first && bytes.Contains(line, quoted[i]) {
				return kind.Weight
			}
		}
		return Nothing
	}
}
