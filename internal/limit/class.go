package limit

import "fmt"

// Class is the kind of refusal that stopped a session.
type Class uint8

// The classes. The zero Class is None: nothing was refused.
const (
	None Class = iota
	RateLimit
	UsageLimit
	Overloaded
	ServerError
	Network
	Timeout
	Unknown
	CutOff
	Auth
	Billing
	ContextOverflow
	BadRequest
	Cancelled
)

// classes are the names of the classes, for programs and for people.
var classes = [...]struct{ name, words string }{
	None:            {"none", ""},
	RateLimit:       {"rate_limit", "rate limit"},
	UsageLimit:      {"usage_limit", "usage limit"},
	Overloaded:      {"overloaded", "provider overloaded"},
	ServerError:     {"server_error", "provider error"},
	Network:         {"network", "no network"},
	Timeout:         {"timeout", "timeout"},
	Unknown:         {"unknown", "an error that resumed does not know"},
	CutOff:          {"cut_off", "cut off"},
	Auth:            {"auth", "sign-in needed"},
	Billing:         {"billing", "billing"},
	ContextOverflow: {"context_overflow", "context too long"},
	BadRequest:      {"bad_request", "request refused"},
	Cancelled:       {"cancelled", "stopped by you"},
}

// Words returns the name of the class for people; empty for None.
func (c Class) Words() string {
	if int(c) < len(classes) {
		return classes[c].words
	}
	return c.String()
}

// Classes returns all classes, in the order of the documentation.
func Classes() []Class {
	all := make([]Class, len(classes))
	for i := range all {
		all[i] = Class(i)
	}
	return all
}

// ParseClass returns the class of that name.
func ParseClass(name string) (Class, error) {
	for i, c := range classes {
		if c.name == name {
			return Class(i), nil
		}
	}
	return None, fmt.Errorf("unknown class %q", name)
}

// Transient reports whether a refusal of this class may lift by itself. Unknown may: it is tried a few
// times before a person gets a notice.
func (c Class) Transient() bool {
	switch c {
	case RateLimit, UsageLimit, Overloaded, ServerError, Network, Timeout, Unknown, CutOff:
		return true
	default:
		return false
	}
}

// Allowance reports whether a refusal of this class means that an allowance is used up.
func (c Class) Allowance() bool { return c == UsageLimit || c == RateLimit }

// Outage reports whether a refusal of this class means that the provider works for no user, or cannot
// be reached.
func (c Class) Outage() bool { return c == Overloaded || c == ServerError || c == Network }

func (c Class) String() string {
	if int(c) < len(classes) {
		return classes[c].name
	}
	return fmt.Sprintf("class(%d)", uint8(c))
}

// MarshalText writes the class's name.
func (c Class) MarshalText() ([]byte, error) { return []byte(c.String()), nil }

// UnmarshalText reads a class's name.
func (c *Class) UnmarshalText(text []byte) error {
	parsed, err := ParseClass(string(text))
	*c = parsed // None, if there is no such class
	return err
}
