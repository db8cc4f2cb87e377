package control

// Break closes the socket under the server.
func (s *Server) Break() { _ = s.socket.listener.Close() }
