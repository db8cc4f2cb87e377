// Package uuidtext keeps UUIDs in half the bytes that they are written with: nearly every
// session has one for its id, and there may be a hundred thousand.
package uuidtext

// Len is how long a UUID is as it is written, and PackedLen as it is packed.
const (
	Len       = len("01990000-0000-7000-8000-000000000000")
	PackedLen = 16
)

const digits = "0123456789abcdef"

// pairs is where the two digits of each byte begin.
var pairs = [PackedLen]uint8{0, 2, 4, 6, 9, 11, 14, 16, 19, 21, 24, 26, 28, 30, 32, 34}

// Pack returns the bytes that a UUID stands for; false for any text that Append would not
// write. Two of them compare as their texts do.
func Pack(text string) (packed [PackedLen]byte, ok bool) {
	if len(text) != Len || text[8] != '-' || text[13] != '-' || text[18] != '-' || text[23] != '-' {
		return packed, false
	}
	for i, at := range pairs {
		high, low := digit(text[at]), digit(text[at+1])
		if high|low > 15 {
			return packed, false
		}
		packed[i] = high<<4 | low
	}
	return packed, true
}

// digit returns what a digit in small letters is worth, and more than 15 for anything else.
func digit(c byte) byte {
	switch {
	case '0' <= c && c <= '9':
		return c - '0'
	case 'a' <= c && c <= 'f':
		return c - 'a' + 10
	default:
		return 0xff
	}
}

// Append appends a UUID as it is written. packed has PackedLen bytes.
func Append(to []byte, packed string) []byte {
	var text [Len]byte
	text[8], text[13], text[18], text[23] = '-', '-', '-', '-'
	for i, at := range pairs {
		text[at], text[at+1] = digits[packed[i]>>4], digits[packed[i]&15]
	}
	return append(to, text[:]...)
}
