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

// isEdgeStatus reports a status that proxies made up for themselves.
func isEdgeStatus(status int) bool { return status >= 520 && status <= 530 && status != 529 }
