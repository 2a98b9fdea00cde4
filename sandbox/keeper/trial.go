package keeper

// The names in the folder of a trial. ProbeInside may be written, ProbeOutside only read, and
// ProbeKey not even that. ProbeSocket is a socket of the server, and so is an abstract one of the
// same name. ProbePort holds the number of a TCP port of the server.
const (
	ProbeInside  = "inside"
	ProbeHooks   = "inside/.git/hooks"
	ProbeOutside = "outside"
	ProbePort    = "outside/port"
	ProbeSocket  = "outside/socket"
	ProbeKey     = "home/.ssh/id_ed25519"
)
