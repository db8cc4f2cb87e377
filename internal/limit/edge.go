package limit

// edgeReasons are what a proxy before the provider says about its own
// statuses. Without such a status they are anyone's words.
var edgeReasons lexicon[ruling]

func init() {
	edgeReasons.add(ruling{class: ServerError, weak: true}, `
		web server is|returned|returns returning? an unknown error
		web server is down
		unknown error
		connection timed out
		origin is unreachable
		origin dns error
		a timeout occurred
		timeout occurred
		ssl handshake failed
		invalid ssl certificate
		origin web server *
	`)
}

// rpcCodes are names of codes that stand behind the status they come with.
// Alone they are what any program says of a file or an argument.
var rpcCodes lexicon[ruling]

func init() {
	rpcCodes.add(ruling{class: Auth, weak: true}, `
		permission denied
	`)
}

// reason finds what only a status before it makes a refusal.
func (m *message) reason(o opening, p int) (hit[ruling], bool) {
	switch {
	case p == 0 || o.status == 0 || m.toks[p-1].kind == word:
		return hit[ruling]{}, false
	case isEdgeStatus(o.status):
		return edgeReasons.at(m.toks, p)
	case m.toks[p].upper && byStatus(o.status) == Auth:
		return rpcCodes.at(m.toks, p)
	default:
		return hit[ruling]{}, false
	}
}

// isEdgeStatus reports a status that proxies made up for themselves.
func isEdgeStatus(status int) bool { return status >= 520 && status <= 530 && status != 529 }
